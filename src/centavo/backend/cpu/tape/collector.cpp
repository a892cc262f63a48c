// Clearing, adding up and writing what was gathered.
#include "centavo/backend/cpu/tape/collector.h"

#include <algorithm>
#include <limits>

#include "centavo/base/bf16.h"

namespace centavo::cpu {
namespace {

template <class T>
T neutral(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  if (kind == ReduceKind::kAdd) return 0;
  const bool max = kind == ReduceKind::kMax;
  if (Limits::has_infinity) return max ? -Limits::infinity() : Limits::infinity();
  return max ? Limits::lowest() : Limits::max();
}

template <class T>
T combine(ReduceKind kind, T a, T b) {
  if (kind == ReduceKind::kAdd) return a + b;
  if (kind == ReduceKind::kMax) return a != a || a > b ? a : b;
  return a != a || a < b ? a : b;
}

int64_t part_bytes(int64_t window) {
  return (window * 4 + 63) / 64 * 64;
}

template <class T>
void put(std::byte* output, DType dtype, int64_t i, T value) {
  if (dtype == DType::kBF16)
    reinterpret_cast<bf16*>(output)[i] = bf16(value);
  else
    reinterpret_cast<T*>(output)[i] = value;
}

}  // namespace

Range share(int64_t size, int64_t unit, int64_t part, int64_t parts) {
  const int64_t units = (size + unit - 1) / unit;
  return {std::min(size, units * part / parts * unit),
          std::min(size, units * (part + 1) / parts * unit)};
}

Collector::Collector(const Reduction& reduction, int64_t window, std::byte* memory)
    : reduction_(&reduction),
      window_(window),
      parts_(memory),
      totals_(reinterpret_cast<double*>(memory + part_bytes(window))) {}

int64_t Collector::bytes(int64_t window) {
  return part_bytes(window) + (window * 8 + 63) / 64 * 64;
}

bool Collector::keeps_totals() const {
  return reduction_->lane == Lane::kF32 && reduction_->kind == ReduceKind::kAdd;
}

template <class F>
void Collector::visit(F f) const {
  if (reduction_->lane == Lane::kF32) return f(reinterpret_cast<float*>(parts_));
  if (reduction_->lane == Lane::kI32) return f(reinterpret_cast<int32_t*>(parts_));
  f(reinterpret_cast<uint32_t*>(parts_));
}

void Collector::begin(int64_t first) {
  first_ = first;
  gathered_ = 0;
  visit([&](auto* parts) {
    using T = std::remove_pointer_t<decltype(parts)>;
    std::fill_n(parts, window_, neutral<T>(reduction_->kind));
  });
  if (keeps_totals()) std::fill_n(totals_, window_, 0.0);
}

void Collector::flush(Range range) {
  gathered_ = 0;
  if (!keeps_totals()) return;
  auto* parts = reinterpret_cast<float*>(parts_);
  for (int64_t i = range.begin; i < range.end; ++i) {
    totals_[i] += static_cast<double>(parts[i]);
    parts[i] = 0;
  }
}

void Collector::add(const Collector& other, Range range) {
  if (keeps_totals()) {
    for (int64_t i = range.begin; i < range.end; ++i) totals_[i] += other.totals_[i];
    return;
  }
  visit([&](auto* parts) {
    const auto* theirs = reinterpret_cast<decltype(parts)>(other.parts_);
    for (int64_t i = range.begin; i < range.end; ++i)
      parts[i] = combine(reduction_->kind, parts[i], theirs[i]);
  });
}

void Collector::write(std::byte* output, Range range) const {
  const DType dtype = reduction_->dtype;
  if (keeps_totals()) {
    for (int64_t i = range.begin; i < range.end; ++i)
      put(output, dtype, first_ + i, static_cast<float>(totals_[i]));
    return;
  }
  visit([&](auto* parts) {
    for (int64_t i = range.begin; i < range.end; ++i) put(output, dtype, first_ + i, parts[i]);
  });
}

}  // namespace centavo::cpu
