#include "base/result.h"

#include <cstring>

namespace skiff {

Error Error::FromErrno(std::string_view call, int os_error) {
  const ErrorCode code = os_error == ENOSPC || os_error == EDQUOT ? ErrorCode::kNoSpace
                         : os_error == EROFS                      ? ErrorCode::kReadOnly
                                                                  : ErrorCode::kIo;
  Error error(code, std::string(call) + ": " + std::strerror(os_error));
  error.os_error_ = os_error;
  return error;
}

Error&& Error::Advising(std::string_view remedy) && {
  message_ += "; " + std::string(remedy);
  return std::move(*this);
}

Error&& Error::While(std::string_view doing) && {
  message_ = std::string(doing) + ": " + message_;
  return std::move(*this);
}

}  // namespace skiff
