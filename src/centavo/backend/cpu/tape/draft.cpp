// Body -> draft: values are followed back from the outputs, each to the fewest elements it needs.
#include "centavo/backend/cpu/tape/draft.h"

#include <algorithm>
#include <bit>

#include "centavo/backend/cpu/tape/ops.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

uint32_t constant_bits(const Literal& literal) {
  const double value = literal.value(0);
  switch (*lane_of(literal.type().dtype)) {
    case Lane::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case Lane::kBool:
      return value != 0 ? ~0u : 0;
    default:
      return static_cast<uint32_t>(static_cast<int64_t>(value));
  }
}

class Drafter {
 public:
  Drafter(const Graph& body, const Loop& loop) : body_(body), known_(body.nodes.size()) {
    draft_.loop = loop;
    for (const auto& node : body.nodes) {
      draft_.blocks |= node->op == &op_dot_general;
      in_tile_.push_back(node->op == &op_dot_general ||
                         (node->op == &op_reduce && reduces_rows(*node, loop)));
      for (const Tensor& input : node->inputs) {
        if (in_tile_[static_cast<size_t>(input.node()->id)]) in_tile_.back() = true;
      }
    }
  }

  Draft run() {
    for (size_t o = 0; o < body_.outputs.size(); ++o) add_output(static_cast<int>(o));
    return std::move(draft_);
  }

 private:
  // A value and how it is read, met before.
  struct Known {
    Space space;
    Access access;
    ValueId value;
  };

  Space space_of(ValueId v) const { return draft_.values[static_cast<size_t>(v)].space; }
  Lane lane(ValueId v) const { return draft_.values[static_cast<size_t>(v)].lane; }
  int64_t extent(Space space) const {
    return space == Space::kFull  ? draft_.loop.elements
           : space == Space::kRow ? draft_.loop.rows()
                                  : 1;
  }

  ValueId add_value(const DraftValue& value) {
    draft_.values.push_back(value);
    return static_cast<ValueId>(draft_.values.size()) - 1;
  }
  // The result of an instruction: that of an equal earlier one if there is one.
  ValueId add_step(DraftStep step, Lane result, Space space) {
    for (const DraftStep& earlier : draft_.steps) {
      step.dst = earlier.dst;
      if (step == earlier && space_of(step.dst) == space && lane(step.dst) == result)
        return step.dst;
    }
    step.dst = add_value({result, space});
    draft_.steps.push_back(step);
    return step.dst;
  }

  void add_output(int index) {
    const Tensor& output = body_.outputs[static_cast<size_t>(index)];
    // A reduction over the whole loop may be reshaped and rounded on its way out.
    const Node* source = output.node().get();
    while (!source->inputs.empty() && (is_view(*source) || source->op == &op_convert))
      source = source->inputs[0].node().get();
    if (source->op == &op_reduce && !reduces_rows(*source, draft_.loop))
      return add_accumulation(index, *source, output.type());
    const int64_t size = output.shape().elements();
    const Space space = size == draft_.loop.elements ? Space::kFull : Space::kRow;
    CENTAVO_CHECK(size == extent(space), "output {} of a loop over {} elements",
                  to_string(output.type()), draft_.loop.elements);
    ValueId value = emit(output, space, Access::identity(size));
    if (space_of(value) != space) value = spread(value, space);
    // An input that is passed on is read before anything may be written over it.
    const DraftValue made = draft_.values[static_cast<size_t>(value)];
    if (made.kind == DraftValue::kInput) {
      const TensorType& type = body_.inputs[static_cast<size_t>(made.input)].type();
      value = load_step(made.input, type.dtype, space, Access::identity(size));
    }
    DraftStep store{DraftStep::kStore};
    store.dtype = output.dtype();
    store.space = space;
    store.operands[0] = value;
    store.index = index;
    draft_.steps.push_back(store);
  }

  void add_accumulation(int index, const Node& reduce, const TensorType& type) {
    const Tensor& input = reduce.inputs[0];
    CENTAVO_CHECK(input.shape().elements() == draft_.loop.elements);
    ValueId value = emit(input, Space::kFull, Access::identity(draft_.loop.elements));
    if (space_of(value) != Space::kFull) value = spread(value, Space::kFull);
    DraftStep step{DraftStep::kAccumulate};
    step.lane = lane(value);
    step.reduce = reduce_kind(reduce);
    step.operands[0] = value;
    step.index = static_cast<int>(draft_.reductions.size());
    step.access = reduced_access(input.shape(), reduce.attrs.ints("dims"));
    draft_.steps.push_back(step);
    draft_.reductions.push_back(
        {index, type.dtype, step.lane, step.reduce, step.access, type.shape.elements()});
  }

  // The value of `t` at the elements that `access` visits, one per element of `space`; perhaps in a
  // smaller space when it is the same for many of them.
  ValueId emit(const Tensor& t, Space space, const Access& access) {
    const bool in_tile = in_tile_[static_cast<size_t>(t.node()->id)];
    if (space != Space::kScalar && access.is_constant() && !in_tile)
      return emit(t, Space::kScalar, {access.offset, {}});
    if (space == Space::kFull && draft_.loop.row_length > 0) {
      if (std::optional<Access> rows = per_row(access, draft_.loop.row_length))
        return emit(t, Space::kRow, *rows);
    }
    std::vector<Known>& known = known_[static_cast<size_t>(t.node()->id)];
    for (const Known& k : known) {
      if (k.space == space && k.access == access) return k.value;
    }
    ValueId value = make(t, space, access);
    known.push_back({space, access, value});
    return value;
  }

  ValueId make(const Tensor& t, Space space, const Access& access) {
    const Node& node = *t.node();
    const Lane result = *lane_of(t.dtype());
    if (node.op == &op_input) return load(node, space, access);
    if (node.op == &op_constant) {
      return add_value({result, Space::kScalar, DraftValue::kConstant,
                        constant_bits(node.attrs.literal("value"))});
    }
    if (node.op == &op_dot_general) {
      CENTAVO_CHECK(space == Space::kFull && access.is_identity());
      return add_value({Lane::kF32, space, DraftValue::kDot});
    }
    if (node.op == &op_iota) {
      DraftStep step{DraftStep::kIota};
      step.dtype = t.dtype();
      step.space = space;
      step.access = through(node, access);
      return add_step(step, result, space);
    }
    if (node.op == &op_rng_bit_generator) return random(node, space, access);
    if (is_view(node)) return emit(node.inputs[0], space, through(node, access));
    if (node.op == &op_reduce) return reduce_rows(node, space, access);
    return compute(node, space, access);
  }

  static Access through(const Node& view, const Access& access) {
    std::optional<Access> inner = through_view(view, access);
    CENTAVO_CHECK(inner, "a loop cannot read through {}", view.op->name);
    return *inner;
  }

  ValueId load(const Node& input, Space space, const Access& access) {
    const int index = input.id;  // inputs lead the body
    const TensorType& type = input.types[0];
    const bool in_place = space != Space::kScalar && !draft_.blocks && size_of(type.dtype) == 4 &&
                          access == Access::identity(extent(space));
    if (in_place) return add_value({*lane_of(type.dtype), space, DraftValue::kInput, 0, index});
    return load_step(index, type.dtype, space, access);
  }

  ValueId load_step(int input, DType dtype, Space space, const Access& access) {
    DraftStep step{DraftStep::kLoad};
    step.dtype = dtype;
    step.space = space;
    step.index = input;
    step.access = access;
    return add_step(step, *lane_of(dtype), space);
  }

  ValueId random(const Node& node, Space space, const Access& access) {
    DraftStep step{DraftStep::kRandom};
    step.space = space;
    step.access = access;
    step.argument = node.attrs.integer("stream");
    for (int64_t i : {0, 1}) step.operands[i] = emit(node.inputs[0], Space::kScalar, {i, {}});
    return add_step(step, Lane::kU32, space);
  }

  ValueId reduce_rows(const Node& reduce, Space space, const Access& access) {
    CENTAVO_CHECK(space == Space::kRow && access == Access::identity(draft_.loop.rows()),
                  "a sum along rows is read out of order");
    ValueId value = emit(reduce.inputs[0], Space::kFull, Access::identity(draft_.loop.elements));
    if (space_of(value) != Space::kFull) value = spread(value, Space::kFull);
    DraftStep step{DraftStep::kRowReduce};
    step.lane = lane(value);
    step.reduce = reduce_kind(reduce);
    step.operands[0] = value;
    return add_step(step, step.lane, Space::kRow);
  }

  ValueId spread(ValueId value, Space space) {
    DraftStep step{DraftStep::kSpread};
    step.space = space;
    step.operands[0] = value;
    return add_step(step, lane(value), space);
  }

  ValueId compute(const Node& node, Space space, const Access& access) {
    std::vector<ValueId> operands;
    for (const Tensor& input : node.inputs) operands.push_back(emit(input, space, access));
    if (node.op == &op_convert) return convert(node, operands[0]);
    Verb verb = *verb_of(node);
    Space widest = Space::kScalar;
    for (ValueId v : operands) widest = std::max(widest, space_of(v));
    const bool divides = verb == Verb::kDivide && lane(operands[0]) == Lane::kF32;
    if (divides && space_of(operands[1]) < widest) {
      operands[1] = map(Verb::kReciprocal, {operands[1]}, Lane::kF32);
      verb = Verb::kMultiply;
    }
    return map(verb, operands, *lane_of(node.types[0].dtype));
  }

  // Values of bf16 are kept in fp32 until they are stored; only what is converted to bf16 and right
  // back is rounded, since that is what it asks for.
  ValueId convert(const Node& node, ValueId value) {
    const DType from = node.inputs[0].dtype(), to = node.types[0].dtype;
    if (from == DType::kBF16 && to == DType::kF32) {
      const Node* source = node.inputs[0].node().get();
      while (is_view(*source) && !source->inputs.empty()) source = source->inputs[0].node().get();
      if (source->op == &op_convert) return map(Verb::kRoundToBf16, {value}, Lane::kF32);
    }
    if (lane_of(from) == lane_of(to)) return value;
    return map(*verb_of(node), {value}, *lane_of(to));
  }

  // An instruction on the widest of its operands' spaces.
  ValueId map(Verb verb, std::vector<ValueId> operands, Lane result) {
    Space widest = Space::kScalar;
    for (ValueId v : operands) widest = std::max(widest, space_of(v));
    DraftStep step{DraftStep::kMap};
    step.verb = verb;
    step.lane = lane(operands[0]);
    step.space = widest;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool wide = space_of(operands[i]) == widest || draft_.is_single(operands[i], widest);
      step.operands[i] = wide ? operands[i] : spread(operands[i], widest);
    }
    return add_step(step, result, widest);
  }

  const Graph& body_;
  Draft draft_;
  std::vector<std::vector<Known>> known_;  // by body node
  std::vector<bool> in_tile_;              // by body node: known in a tile only
};

bool is_map(const DraftStep& step, Verb verb) {
  return step.kind == DraftStep::kMap && step.verb == verb && step.lane == Lane::kF32;
}

}  // namespace

Draft draft_tape(const Graph& body, const Loop& loop) {
  return Drafter(body, loop).run();
}

void simplify_draft(Draft& draft) {
  std::vector<int> uses(draft.values.size(), 0), maker(draft.values.size(), -1);
  for (size_t i = 0; i < draft.steps.size(); ++i) {
    if (draft.steps[i].dst >= 0)
      maker[static_cast<size_t>(draft.steps[i].dst)] = static_cast<int>(i);
    for (ValueId v : draft.steps[i].operands) {
      if (v >= 0) ++uses[static_cast<size_t>(v)];
    }
  }
  // What makes an operand that nobody else reads.
  auto sole_maker = [&](ValueId v) -> DraftStep* {
    const bool sole = maker[static_cast<size_t>(v)] >= 0 && uses[static_cast<size_t>(v)] == 1;
    return sole ? &draft.steps[static_cast<size_t>(maker[static_cast<size_t>(v)])] : nullptr;
  };
  auto drop = [&](DraftStep& step) {
    uses[static_cast<size_t>(step.dst)] = 0;
    step.dst = -1;
  };
  auto join = [&](DraftStep& sum, size_t which, Verb verb) {
    DraftStep* product = sole_maker(sum.operands[which]);
    if (!product || !is_map(*product, Verb::kMultiply) || product->space != sum.space) return false;
    const ValueId other = sum.operands[1 - which];
    if (draft.is_single(other, sum.space) && draft.is_single(product->operands[0], sum.space) &&
        draft.is_single(product->operands[1], sum.space) && sum.space != Space::kScalar)
      return false;
    sum.verb = verb;
    sum.operands[0] = product->operands[0];
    sum.operands[1] = product->operands[1];
    sum.operands[2] = other;
    drop(*product);
    return true;
  };
  for (DraftStep& step : draft.steps) {
    if (is_map(step, Verb::kAdd)) {
      (void)(join(step, 0, Verb::kMultiplyAdd) || join(step, 1, Verb::kMultiplyAdd));
    } else if (is_map(step, Verb::kSubtract)) {
      (void)(join(step, 0, Verb::kMultiplySubtract) || join(step, 1, Verb::kNegativeMultiplyAdd));
    }
  }
  std::erase_if(draft.steps, [](const DraftStep& step) {
    return step.dst < 0 && step.kind != DraftStep::kStore && step.kind != DraftStep::kAccumulate;
  });
}

}  // namespace centavo::cpu
