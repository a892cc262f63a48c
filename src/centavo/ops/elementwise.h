// Element-by-element functions. Binary ones broadcast as NumPy does; both operands have one dtype,
// and a C++ number takes the tensor's. All throw Error on other dtypes or shapes that do not
// broadcast.
#pragma once

#include "centavo/ir/tensor.h"

namespace centavo {

Tensor abs(const Tensor& x, const Loc& loc = Loc::current());
Tensor ceil(const Tensor& x, const Loc& loc = Loc::current());
Tensor cos(const Tensor& x, const Loc& loc = Loc::current());
Tensor erf(const Tensor& x, const Loc& loc = Loc::current());
Tensor exp(const Tensor& x, const Loc& loc = Loc::current());
Tensor floor(const Tensor& x, const Loc& loc = Loc::current());
Tensor is_finite(const Tensor& x, const Loc& loc = Loc::current());  // bool
Tensor log(const Tensor& x, const Loc& loc = Loc::current());
Tensor logical_not(const Tensor& x, const Loc& loc = Loc::current());
Tensor negate(const Tensor& x, const Loc& loc = Loc::current());
Tensor rsqrt(const Tensor& x, const Loc& loc = Loc::current());
Tensor sigmoid(const Tensor& x, const Loc& loc = Loc::current());
Tensor sign(const Tensor& x, const Loc& loc = Loc::current());
Tensor sin(const Tensor& x, const Loc& loc = Loc::current());
Tensor sqrt(const Tensor& x, const Loc& loc = Loc::current());
Tensor tanh(const Tensor& x, const Loc& loc = Loc::current());

Tensor add(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor divide(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor logical_and(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor logical_or(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor maximum(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor minimum(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor multiply(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor power(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
Tensor shift_right(const Tensor& a, const Tensor& b,
                   const Loc& loc = Loc::current());  // zeros come in
Tensor subtract(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());

enum class Comparison { kEq, kNe, kLt, kLe, kGt, kGe };
Tensor compare(const Tensor& a, const Tensor& b, Comparison how,
               const Loc& loc = Loc::current());  // bool
// Where `condition` (bool) holds, a, else b.
Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b,
              const Loc& loc = Loc::current());
// The same values in another dtype; x itself when it has it already.
Tensor convert(const Tensor& x, DType dtype, const Loc& loc = Loc::current());

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& a);

// max(x, 0).
Tensor relu(const Tensor& x, const Loc& loc = Loc::current());
// x * sigmoid(x).
Tensor silu(const Tensor& x, const Loc& loc = Loc::current());

}  // namespace centavo
