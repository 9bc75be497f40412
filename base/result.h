#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace skiff {

// Why an operation failed, in terms a caller can act on. Add a code only when
// some caller must behave differently; everything else goes in the message.
enum class ErrorCode : uint8_t {
  kInvalid,      // the caller's request makes no sense
  kOutOfRange,   // an address or offset lies outside the object
  kUnsupported,  // well-formed, but needs a feature we lack
  kCorrupt,      // on-disk or on-wire data breaks its specification
  kReadOnly,     // the object, or the file system below it, cannot be written
  kNoSpace,      // the host has no room; os_error() holds errno
  kIo,           // a host call failed; os_error() holds errno
};

// A failure and the path it took: "opening disk.qcow2: reading L1 table: EIO".
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  // Captures errno. Call it directly after the failing host call. ENOSPC and EDQUOT become
  // kNoSpace, EROFS kReadOnly, all else kIo.
  static Error FromErrno(std::string_view call, int os_error = errno);

  ErrorCode code() const { return code_; }
  int os_error() const { return os_error_; }
  const std::string& message() const { return message_; }

  // Appends what to do about it: "…; check the path".
  Error&& Advising(std::string_view remedy) &&;
  // Prefixes what we were doing: return std::move(error).While("reading L1 table");
  Error&& While(std::string_view doing) &&;

 private:
  ErrorCode code_;
  int os_error_ = 0;
  std::string message_;
};

// Either a T or an Error. Reading the wrong side aborts: that is our bug, never
// the guest's or the image's.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }

  T& value() & { return Get<0>(state_); }
  const T& value() const& { return Get<0>(state_); }
  T&& value() && { return std::move(Get<0>(state_)); }
  const Error& error() const& { return Get<1>(state_); }
  Error&& error() && { return std::move(Get<1>(state_)); }

  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  template <size_t I, typename V>
  static auto& Get(V& state) {
    if (state.index() != I) std::abort();
    return *std::get_if<I>(&state);
  }
  std::variant<T, Error> state_;
};

struct Nothing {};
template <>
class [[nodiscard]] Result<void> : public Result<Nothing> {
 public:
  Result() : Result<Nothing>(Nothing{}) {}
  Result(Error error) : Result<Nothing>(std::move(error)) {}
};

inline Error Invalid(std::string m) { return {ErrorCode::kInvalid, std::move(m)}; }
inline Error OutOfRange(std::string m) { return {ErrorCode::kOutOfRange, std::move(m)}; }
inline Error Corrupt(std::string m) { return {ErrorCode::kCorrupt, std::move(m)}; }
inline Error Unsupported(std::string m) { return {ErrorCode::kUnsupported, std::move(m)}; }
inline Error ReadOnly(std::string m) { return {ErrorCode::kReadOnly, std::move(m)}; }

}  // namespace skiff

// Yields the value, or returns the error from the enclosing function. Use it only
// as a whole statement or a whole initializer, never inside an argument list.
#define TRY(expression)                                           \
  ({                                                              \
    auto try_result_ = (expression);                              \
    if (!try_result_.ok()) return std::move(try_result_).error(); \
    std::move(try_result_).value();                               \
  })
