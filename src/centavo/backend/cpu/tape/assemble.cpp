// Draft -> tape: the order of stores, registers by linear scan, and the size of tiles.
#include <algorithm>

#include "centavo/backend/cpu/tape/draft.h"

namespace centavo::cpu {
namespace {

// Registers of a tile together stay well inside L1, next to the memory that streams through.
constexpr int64_t kRegisterElements = 5120;
constexpr int64_t kMinTile = 256, kMaxTile = 2048;

class Assembler {
 public:
  Assembler(const Draft& draft, CpuLevel level)
      : draft_(draft), level_(level), regs_(draft.values.size(), -1) {
    tape_.loop = draft.loop;
    tape_.reductions = draft.reductions;
  }

  Tape run() {
    find_periodic();
    for (const DraftStep& step : draft_.steps) {
      if (step.kind == DraftStep::kStore) continue;
      const bool once = step.dst >= 0 && value(step.dst).space == Space::kScalar;
      if (once) {
        assign_operands(step);
        assign(step.dst, new_register(Space::kScalar));
        tape_.prologue.push_back(encode(step));
      } else {
        order_.push_back(&step);
      }
    }
    std::stable_partition(order_.begin(), order_.end(),
                          [&](const DraftStep* step) { return is_periodic(*step); });
    choose_direct_outputs();
    insert_stores();
    allocate();
    choose_tile();
    return std::move(tape_);
  }

 private:
  const DraftValue& value(ValueId v) const { return draft_.values[static_cast<size_t>(v)]; }
  int& reg(ValueId v) { return regs_[static_cast<size_t>(v)]; }
  void assign(ValueId v, int r) { reg(v) = r; }

  int new_register(Space space) {
    tape_.spaces.push_back(space);
    return static_cast<int>(tape_.spaces.size()) - 1;
  }

  // -- Values that repeat along the loop, such as one per channel.

  // After how many elements the place repeats where `access` leads; 0: not at all.
  static int64_t period_of(const Access& access) {
    if (access.digits.size() < 2 || access.digits[0].stride != 0) return 0;
    int64_t period = 1;
    for (size_t d = 1; d < access.digits.size(); ++d) period *= access.digits[d].extent;
    return period;
  }

  void find_periodic() {
    is_periodic_.resize(draft_.values.size());
    auto keeps = [&](ValueId v) {
      return v < 0 || is_periodic_[static_cast<size_t>(v)] || value(v).space == Space::kScalar;
    };
    for (const DraftStep& step : draft_.steps) {
      if (step.dst < 0 || value(step.dst).space != Space::kFull) continue;
      bool repeats = false;
      if (step.kind == DraftStep::kLoad || step.kind == DraftStep::kIota)
        repeats = has_period(period_of(step.access));
      if (step.kind == DraftStep::kMap || step.kind == DraftStep::kSpread)
        repeats = std::all_of(std::begin(step.operands), std::end(step.operands), keeps);
      is_periodic_[static_cast<size_t>(step.dst)] = repeats;
    }
    tape_.period = std::max<int64_t>(1, tape_.period);  // 1: numbers repeated
  }
  // Whether values that repeat after `period` elements can stay; the first of them decides.
  bool has_period(int64_t period) {
    if (period == 0 || period > kMaxTile) return false;
    const int64_t wanted = draft_.blocks                ? draft_.loop.columns
                           : draft_.loop.row_length > 0 ? draft_.loop.row_length
                           : tape_.period > 0           ? tape_.period
                                                        : period;
    if (period != wanted) return false;
    tape_.period = period;
    return true;
  }
  bool is_periodic(const DraftStep& step) const {
    return step.dst >= 0 && is_periodic_[static_cast<size_t>(step.dst)];
  }

  // Registers of operands that no instruction makes: constants, inputs in place, the product.
  void assign_operands(const DraftStep& step) {
    for (ValueId v : step.operands) {
      if (v < 0 || reg(v) >= 0 || value(v).kind == DraftValue::kComputed) continue;
      reg(v) =
          new_register(value(v).kind == DraftValue::kConstant ? Space::kScalar : value(v).space);
      const auto number = static_cast<uint16_t>(reg(v));
      if (value(v).kind == DraftValue::kConstant)
        tape_.constants.push_back({number, value(v).bits});
      if (value(v).kind == DraftValue::kDot) tape_.dot_register = reg(v);
      if (value(v).kind == DraftValue::kInput) {
        tape_.direct.push_back(
            {number, static_cast<uint16_t>(value(v).input), false, value(v).space});
      }
    }
  }

  // -- Outputs may lie over inputs of their element size that are read in place order: every such
  // read comes before the write.

  static int64_t index_of_bytes(int64_t bytes) { return bytes == 4 ? 2 : bytes - 1; }

  // By element size, the last instruction that reads an input in place order.
  void find_last_reads() {
    std::fill(std::begin(last_read_), std::end(last_read_), -1);
    for (size_t i = 0; i < order_.size(); ++i) {
      const DraftStep& step = *order_[i];
      int64_t bytes = 0;
      if (step.kind == DraftStep::kLoad && step.access.is_identity()) bytes = size_of(step.dtype);
      for (ValueId v : step.operands) {
        if (v >= 0 && value(v).kind == DraftValue::kInput) bytes = 4;
      }
      if (bytes > 0) last_read_[index_of_bytes(bytes)] = static_cast<int>(i);
    }
  }

  int made_at(ValueId v) const {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (order_[i]->dst == v) return static_cast<int>(i);
    }
    return -1;
  }

  // A value of four bytes is computed where it is to be stored if nothing is read there later.
  void choose_direct_outputs() {
    find_last_reads();
    for (const DraftStep& store : draft_.steps) {
      if (store.kind != DraftStep::kStore) continue;
      const ValueId v = store.operands[0];
      const int at = made_at(v);
      const bool fits = !draft_.blocks && size_of(store.dtype) == 4 && at >= 0 && reg(v) < 0 &&
                        value(v).space == store.space && !is_periodic_[static_cast<size_t>(v)];
      if (!fits) continue;
      const int last = last_read_[index_of_bytes(4)];
      const bool in_step = order_[static_cast<size_t>(at)]->kind == DraftStep::kMap;
      if (last > at || (last == at && !in_step)) continue;
      reg(v) = new_register(store.space);
      tape_.direct.push_back(
          {static_cast<uint16_t>(reg(v)), static_cast<uint16_t>(store.index), true, store.space});
      direct_stores_.push_back(&store);
    }
  }

  void insert_stores() {
    std::vector<std::vector<const DraftStep*>> after(order_.size() + 1);
    for (const DraftStep& store : draft_.steps) {
      if (store.kind != DraftStep::kStore) continue;
      if (std::find(direct_stores_.begin(), direct_stores_.end(), &store) != direct_stores_.end())
        continue;
      const int at =
          std::max(made_at(store.operands[0]), last_read_[index_of_bytes(size_of(store.dtype))]);
      after[static_cast<size_t>(at + 1)].push_back(&store);
    }
    std::vector<const DraftStep*> ordered = after[0];
    for (size_t i = 0; i < order_.size(); ++i) {
      ordered.push_back(order_[i]);
      ordered.insert(ordered.end(), after[i + 1].begin(), after[i + 1].end());
    }
    order_ = std::move(ordered);
  }

  // -- registers

  void allocate() {
    std::vector<int> last_use(draft_.values.size(), -1);
    for (size_t i = 0; i < order_.size(); ++i) {
      for (ValueId v : order_[i]->operands) {
        if (v >= 0) last_use[static_cast<size_t>(v)] = static_cast<int>(i);
      }
    }
    std::vector<int> free[3];  // by Space
    for (size_t i = 0; i < order_.size(); ++i) {
      const DraftStep& step = *order_[i];
      assign_operands(step);
      // Only element-by-element instructions may write over what they read.
      if (step.kind != DraftStep::kMap) assign_result(step, free);
      for (ValueId v : step.operands) {
        const bool dies =
            v >= 0 && last_use[static_cast<size_t>(v)] == static_cast<int>(i) && is_temporary(v);
        if (!dies) continue;
        free[static_cast<size_t>(value(v).space)].push_back(reg(v));
        last_use[static_cast<size_t>(v)] = -1;
      }
      if (step.kind == DraftStep::kMap) assign_result(step, free);
      (is_periodic(step) ? tape_.periodic : tape_.steps).push_back(encode(step));
    }
  }

  // Whether an instruction of every tile reads the value.
  bool is_kept(ValueId v) const {
    return is_periodic_[static_cast<size_t>(v)] &&
           std::any_of(order_.begin(), order_.end(), [&](const DraftStep* step) {
             return !is_periodic(*step) &&
                    std::ranges::find(step->operands, v) != std::end(step->operands);
           });
  }

  void assign_result(const DraftStep& step, std::vector<int> (&free)[3]) {
    if (step.dst < 0 || reg(step.dst) >= 0) return;
    const Space space = value(step.dst).space;
    if (is_kept(step.dst)) {
      reg(step.dst) = new_register(space);
      ++kept_;
      return;
    }
    std::vector<int>& list = free[static_cast<size_t>(space)];
    if (list.empty()) {
      reg(step.dst) = new_register(space);
      temporaries_.push_back(reg(step.dst));
    } else {
      reg(step.dst) = list.back();
      list.pop_back();
    }
  }
  bool is_temporary(ValueId v) {
    return std::find(temporaries_.begin(), temporaries_.end(), reg(v)) != temporaries_.end();
  }

  void choose_tile() {
    int64_t wide = kept_;
    for (int r : temporaries_) wide += tape_.spaces[static_cast<size_t>(r)] == Space::kFull;
    const int64_t fits = kRegisterElements / std::max<int64_t>(1, wide) / 64 * 64;
    tape_.tile = std::clamp(fits, kMinTile, kMaxTile);
    const int64_t row = draft_.loop.row_length;
    if (row > 0) {
      tape_.tile = draft_.one_row_per_tile() ? row : std::max<int64_t>(1, tape_.tile / row) * row;
    } else if (!draft_.blocks) {
      tape_.tile = std::max<int64_t>(1, tape_.tile / tape_.period) * tape_.period;
    }
  }

  // -- instructions

  Step encode(const DraftStep& draft) {
    Step step;
    step.run = find(draft);
    CENTAVO_CHECK(step.run, "no instruction for verb {} on lanes {}", static_cast<int>(draft.verb),
                  static_cast<int>(draft.lane));
    auto number = [&](ValueId v) { return static_cast<uint16_t>(v < 0 ? 0 : reg(v)); };
    step.dst = number(draft.dst);
    step.a = number(draft.operands[0]);
    step.b = number(draft.operands[1]);
    step.c = number(draft.operands[2]);
    step.index = static_cast<uint16_t>(std::max(0, draft.index));
    step.space = draft.space;
    step.argument = draft.argument;
    auto known = std::find(tape_.accesses.begin(), tape_.accesses.end(), draft.access);
    step.access = static_cast<uint16_t>(known - tape_.accesses.begin());
    if (known == tape_.accesses.end()) tape_.accesses.push_back(draft.access);
    return step;
  }

  StepFunction find(const DraftStep& step) const {
    switch (step.kind) {
      case DraftStep::kMap:
        return find_map(step.verb, step.lane, single_operands(step), level_);
      case DraftStep::kLoad:
        return find_load(step.dtype, level_);
      case DraftStep::kIota:
        return find_iota(step.dtype, level_);
      case DraftStep::kRandom:
        return find_random(level_);
      case DraftStep::kSpread:
        return find_spread(value(step.operands[0]).space, level_);
      case DraftStep::kRowReduce:
        return find_row_reduce(step.reduce, step.lane, level_);
      case DraftStep::kAccumulate:
        return find_accumulate(step.reduce, step.lane, level_);
      case DraftStep::kStore:
        return find_store(step.dtype, level_);
    }
    CENTAVO_UNREACHABLE();
  }

  unsigned single_operands(const DraftStep& step) const {
    unsigned bits = 0;
    if (step.space == Space::kScalar) return bits;
    for (unsigned i = 0; i < 3; ++i) {
      const ValueId v = step.operands[i];
      if (v >= 0 && value(v).space != step.space && draft_.is_single(v, step.space))
        bits |= 1u << i;
    }
    return bits;
  }

  const Draft& draft_;
  const CpuLevel level_;
  Tape tape_;
  std::vector<int> regs_;                // by value; -1: not yet
  std::vector<bool> is_periodic_;        // by value
  int kept_ = 0;                         // registers of periodic values that tiles read
  std::vector<int> temporaries_;         // registers that are used again
  std::vector<const DraftStep*> order_;  // of the instructions on tiles
  std::vector<const DraftStep*> direct_stores_;
  int last_read_[3] = {-1, -1, -1};
};

}  // namespace

Tape assemble(const Draft& draft, CpuLevel level) {
  return Assembler(draft, level).run();
}

Tape compile_tape(const Graph& body, const Loop& loop, CpuLevel level) {
  Draft draft = draft_tape(body, loop);
  simplify_draft(draft);
  return assemble(draft, level);
}

}  // namespace centavo::cpu
