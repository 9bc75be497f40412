#pragma once

namespace skiff {

// std::visit(Overloaded{[](A) {...}, [](B) {...}}, variant): a missing case is a compile error.
template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace skiff
