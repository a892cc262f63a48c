// Packing of an operand's strips.
#include "centavo/backend/cpu/kernels/gemm_operand.h"

#include "centavo/base/error.h"

namespace centavo::cpu {

Operand Operand::a(const GemmSpec& spec, const Micro& micro, const void* data) {
  Operand a;
  const MatrixLayout& layout = spec.a;
  a.micro_ = &micro;
  a.data_ = static_cast<const std::byte*>(data);
  a.dtype_ = layout.dtype;
  if (layout.col_stride == 1 && micro.reads_in_place(layout.dtype, spec.k)) {
    a.state_ = State::kInPlace;
  }
  a.size_ = spec.m, a.k_ = spec.k, a.unit_ = micro.rows;
  const int64_t bytes = size_of(layout.dtype);
  a.strip_bytes_ = layout.row_stride * bytes;
  a.k_bytes_ = layout.col_stride * bytes;
  a.batch_bytes_ = layout.batch_stride * bytes;
  return a;
}

Operand Operand::b(const GemmSpec& spec, const Micro& micro, const void* data) {
  Operand b;
  const MatrixLayout& layout = spec.b;
  b.micro_ = &micro;
  b.data_ = static_cast<const std::byte*>(data);
  b.dtype_ = layout.dtype;
  b.size_ = spec.n, b.k_ = spec.k, b.unit_ = micro.width();
  const int64_t bytes = size_of(layout.dtype);
  b.strip_bytes_ = layout.col_stride * bytes;
  b.k_bytes_ = layout.row_stride * bytes;
  b.batch_bytes_ = layout.batch_stride * bytes;
  return b;
}

Operand Operand::b(const GemmSpec& spec, const Micro& micro, const PackedMatrix& packed) {
  CENTAVO_CHECK(packed.k == spec.k && packed.n == spec.n && packed.compute == spec.compute &&
                    packed.level == spec.level,
                "a matrix packed for another product");
  Operand b;
  b.micro_ = &micro;
  b.data_ = static_cast<const std::byte*>(packed.data);
  b.state_ = State::kPacked;
  b.size_ = spec.n, b.k_ = spec.k, b.unit_ = micro.width();
  return b;
}

int64_t Operand::packed_bytes(int64_t strips) const {
  return ceil_div(strips, unit_) * unit_ * micro_->steps(k_) * kWord;
}

void Operand::pack(int64_t batch, Range strips, Range steps, int64_t origin,
                   std::byte* panels) const {
  const Range k = elements(steps);
  const int64_t bytes = size_of(dtype_);
  micro_->pack(panels + packed_bytes(strips.begin - origin) + steps.begin * unit_ * kWord, unit_,
               packed_bytes(unit_), at(batch, strips.begin, k.begin), dtype_, strip_bytes_ / bytes,
               k_bytes_ / bytes, strips.size(), k.size());
}

void Operand::add_source_to(AheadQueue& queue, int64_t batch, Range strips, Range steps) const {
  const Range k = elements(steps);
  const int64_t bytes = size_of(dtype_);
  const std::byte* first = at(batch, strips.begin, k.begin);
  if (k_bytes_ == bytes) {
    queue.add(first, strips.size(), strip_bytes_, k.size() * bytes);
  } else if (strip_bytes_ == bytes) {
    queue.add(first, k.size(), k_bytes_, strips.size() * bytes);
  }
}

Strips Operand::strips(int64_t batch, int64_t origin, const std::byte* panels) const {
  if (state_ == State::kInPlace) {
    return {.data = at(batch, 0, 0),
            .unit_bytes = strip_bytes_,
            .strip_bytes = strip_bytes_,
            .step_bytes = kWord};
  }
  return {.data = ready() ? data_ : panels,
          .origin = ready() ? 0 : origin,
          .unit = unit_,
          .unit_bytes = packed_bytes(unit_),
          .strip_bytes = kWord,
          .step_bytes = unit_ * kWord};
}

}  // namespace centavo::cpu
