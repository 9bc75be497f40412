#pragma once

#include <cstddef>

#include "disk/block.h"

namespace skiff {

// Requests in the order they came, linked through themselves: as long as the submitter's memory
// lasts, there is no limit and nothing to allocate. A request is in one list at a time.
class RequestList {
 public:
  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }

  void Push(BlockRequest& request) {
    request.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &request;
    last_ = &request;
    ++size_;
  }

  // Null when empty.
  BlockRequest* Pop() {
    BlockRequest* const request = first_;
    if (request == nullptr) return nullptr;
    first_ = request->next;
    request->next = nullptr;
    --size_;
    return request;
  }

  // Moves all of `other` to the end.
  void Append(RequestList& other) {
    if (other.empty()) return;
    (first_ == nullptr ? first_ : last_->next) = other.first_;
    last_ = other.last_;
    size_ += other.size_;
    other = {};
  }

 private:
  BlockRequest* first_ = nullptr;
  BlockRequest* last_ = nullptr;  // meaningful unless empty
  size_t size_ = 0;
};

}  // namespace skiff
