// The printer: one writer per kind of op, over a small helper for the generic form.
#include "centavo/stablehlo/emit.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <unordered_map>

#include "centavo/ir/op.h"
#include "centavo/ops/registry.h"
#include "centavo/stablehlo/identity.h"
#include "centavo/stablehlo/legalize.h"
#include "centavo/stablehlo/literal_text.h"
#include "centavo/stablehlo/types.h"

namespace centavo::stablehlo {
namespace {

using Ints = std::vector<int64_t>;

std::string list(const Ints& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}
std::string array(const Ints& values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}
// Rows of (low, high).
std::string padding_text(const Ints& low, const Ints& high) {
  std::vector<std::string> rows;
  for (size_t d = 0; d < low.size(); ++d) rows.push_back(fmt::format("[{}, {}]", low[d], high[d]));
  return fmt::format("dense<[{}]> : tensor<{}x2xi64>", fmt::join(rows, ", "), low.size());
}
// The spatial pair of a channels-last image as values for all four dimensions.
Ints over_image(const Ints& spatial, int64_t others) {
  return {others, spatial[0], spatial[1], others};
}

struct Operand {
  std::string name;
  TensorType type;
};

// Prints one graph. Values are named by their nodes' positions: %arg0, %5, %7#1.
class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string function(bool donate) {
    for (const auto& node : graph_.nodes) {
      if (node->op != &op_input) write(*node);
    }
    std::vector<Operand> results;
    std::vector<std::string> result_types;
    for (const Tensor& output : graph_.outputs) {
      results.push_back(operand(output));
      result_types.push_back(type_text(output.type()));
    }
    line("", "func.return", results, "", {}, {});
    return fmt::format("  func.func public @main({}) -> ({}) {{\n{}  }}\n",
                       fmt::join(arguments(donate), ", "), fmt::join(result_types, ", "), body_);
  }

 private:
  std::vector<std::string> arguments(bool donate) const {
    std::vector<std::string> texts;
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      texts.push_back(fmt::format("%arg{}: {}", i, type_text(graph_.inputs[i].type())));
    for (size_t i = 0; donate && i < graph_.aliases.size(); ++i) {
      if (graph_.aliases[i] >= 0)
        texts[static_cast<size_t>(graph_.aliases[i])] +=
            fmt::format(" {{tf.aliasing_output = {} : i32}}", i);
    }
    return texts;
  }

  // Inputs are a graph's first nodes, in order.
  Operand operand(const Tensor& t) const {
    const Node& node = *t.node();
    if (node.op == &op_input) return {fmt::format("%arg{}", node.id), t.type()};
    return {fmt::format("%{}{}", node.id, node.op == &op_optimization_barrier ? "#0" : ""),
            t.type()};
  }
  std::vector<Operand> operands(const Node& node) const {
    std::vector<Operand> all;
    for (const Tensor& input : node.inputs) all.push_back(operand(input));
    return all;
  }

  // result = "op"(operands) (regions) {attributes} : (types) -> types
  void line(const std::string& result, std::string_view op, const std::vector<Operand>& operands,
            const std::string& attributes, const std::vector<TensorType>& types,
            const std::vector<std::string>& regions) {
    std::vector<std::string> names, operand_types, result_types;
    for (const Operand& o : operands) {
      names.push_back(o.name);
      operand_types.push_back(type_text(o.type));
    }
    for (const TensorType& type : types) result_types.push_back(type_text(type));
    body_ += "    ";
    if (!result.empty()) body_ += result + " = ";
    body_ += fmt::format("\"{}\"({})", op, fmt::join(names, ", "));
    if (!regions.empty()) body_ += fmt::format(" ({})", fmt::join(regions, ", "));
    if (!attributes.empty()) body_ += " {" + attributes + "}";
    body_ += fmt::format(" : ({}) -> ", fmt::join(operand_types, ", "));
    body_ += result_types.size() == 1 ? result_types[0]
                                      : fmt::format("({})", fmt::join(result_types, ", "));
    body_ += "\n";
  }
  void emit(const Node& node, std::string_view op, const std::vector<Operand>& operands,
            const std::string& attributes = "", const std::vector<std::string>& regions = {}) {
    line(fmt::format("%{}", node.id), fmt::format("stablehlo.{}", op), operands, attributes,
         node.types, regions);
  }

  // A scalar constant, made once.
  Operand scalar(const Literal& value) {
    const std::string text = literal_text(value);
    auto [at, fresh] = scalars_.emplace(text, fmt::format("%c{}", scalars_.size()));
    if (fresh) line(at->second, "stablehlo.constant", {}, "value = " + text, {value.type()}, {});
    return {at->second, value.type()};
  }

  // A region of two scalars that returns `op` of them.
  static std::string region(std::string_view op, DType dtype, DType result,
                            const std::string& attributes = "") {
    return fmt::format(
        "{{\n    ^bb0(%a: {0}, %b: {0}):\n      %r = \"stablehlo.{2}\"(%a, %b){3} : ({0}, {0}) -> "
        "{1}\n      \"stablehlo.return\"(%r) : ({1}) -> ()\n    }}",
        type_text({dtype, {}}), type_text({result, {}}), op,
        attributes.empty() ? "" : " {" + attributes + "}");
  }
  static std::string combiner(const std::string& kind, DType dtype) {
    return region(kind == "add" ? "add" : kind == "max" ? "maximum" : "minimum", dtype, dtype);
  }
  static std::string comparison(const std::string& direction, DType dtype) {
    const char* type = is_floating(dtype) ? "FLOAT"
                       : dtype == DType::kI8 || dtype == DType::kI32 || dtype == DType::kI64
                           ? "SIGNED"
                           : "UNSIGNED";
    return fmt::format(
        "comparison_direction = #stablehlo<comparison_direction {}>, compare_type = "
        "#stablehlo<comparison_type {}>",
        direction, type);
  }

  void write(const Node& node);
  void write_dot(const Node& node);
  void write_convolution(const Node& node);
  void write_slice(const Node& node);
  void write_pad(const Node& node);
  void write_reduce(const Node& node);
  void write_reduce_window(const Node& node);
  void write_select_and_scatter(const Node& node);
  void write_all_reduce(const Node& node);
  void write_barrier(const Node& node);

  const Graph& graph_;
  std::string body_;
  std::map<std::string, std::string> scalars_;  // text of the value -> name
};

// Two operands' precision: fp32 means fp32, also where a device could multiply in less.
std::string precision(DType dtype) {
  const char* name = size_of(dtype) >= 4 ? "HIGHEST" : "DEFAULT";
  return fmt::format("precision_config = [#stablehlo<precision {0}>, #stablehlo<precision {0}>]",
                     name);
}

void Printer::write_dot(const Node& node) {
  const Attrs& a = node.attrs;
  emit(node, "dot_general", operands(node),
       fmt::format("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, "
                   "rhs_batching_dimensions = {}, lhs_contracting_dimensions = {}, "
                   "rhs_contracting_dimensions = {}>, {}",
                   list(a.ints("lhs_batch")), list(a.ints("rhs_batch")),
                   list(a.ints("lhs_contract")), list(a.ints("rhs_contract")),
                   precision(node.inputs[0].dtype())));
}

void Printer::write_convolution(const Node& node) {
  const Attrs& a = node.attrs;
  emit(node, "convolution", operands(node),
       fmt::format(
           "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[o, i, "
           "0, 1]->[b, 0, 1, f]>, feature_group_count = {} : i64, lhs_dilation = {}, padding = {}, "
           "{}, "
           "rhs_dilation = {}, window_reversal = array<i1: false, false>, window_strides = {}",
           a.integer("groups"), array(a.ints("input_dilation")),
           padding_text(a.ints("padding_low"), a.ints("padding_high")),
           precision(node.inputs[0].dtype()), array(a.ints("dilation")), array(a.ints("strides"))));
}

void Printer::write_slice(const Node& node) {
  emit(node, "slice", operands(node),
       fmt::format("limit_indices = {}, start_indices = {}, strides = {}",
                   array(node.attrs.ints("limit")), array(node.attrs.ints("start")),
                   array(node.attrs.ints("strides"))));
}

void Printer::write_pad(const Node& node) {
  const Attrs& a = node.attrs;
  std::vector<Operand> all = operands(node);
  all.push_back(scalar(Literal::splat({node.types[0].dtype, {}}, a.real("value"))));
  emit(node, "pad", all,
       fmt::format("edge_padding_high = {}, edge_padding_low = {}, interior_padding = {}",
                   array(a.ints("high")), array(a.ints("low")), array(a.ints("interior"))));
}

void Printer::write_reduce(const Node& node) {
  const DType dtype = node.types[0].dtype;
  const std::string& kind = node.attrs.text("kind");
  std::vector<Operand> all = operands(node);
  all.push_back(scalar(identity_of(kind, dtype)));
  emit(node, "reduce", all, "dimensions = " + array(node.attrs.ints("dims")),
       {combiner(kind, dtype)});
}

void Printer::write_reduce_window(const Node& node) {
  const Attrs& a = node.attrs;
  const DType dtype = node.types[0].dtype;
  std::vector<Operand> all = operands(node);
  all.push_back(scalar(identity_of(a.text("kind"), dtype)));
  emit(node, "reduce_window", all,
       fmt::format("base_dilations = {0}, padding = {1}, window_dilations = {0}, "
                   "window_dimensions = {2}, window_strides = {3}",
                   array(Ints(4, 1)),
                   padding_text(over_image(a.ints("padding_low"), 0),
                                over_image(a.ints("padding_high"), 0)),
                   array(over_image(a.ints("window"), 1)), array(over_image(a.ints("strides"), 1))),
       {combiner(a.text("kind"), dtype)});
}

void Printer::write_select_and_scatter(const Node& node) {
  const Attrs& a = node.attrs;
  const DType dtype = node.types[0].dtype;
  std::vector<Operand> all = operands(node);
  all.push_back(scalar(Literal::splat({dtype, {}}, 0)));
  emit(node, "select_and_scatter", all,
       fmt::format("padding = {}, window_dimensions = {}, window_strides = {}",
                   padding_text(over_image(a.ints("padding_low"), 0),
                                over_image(a.ints("padding_high"), 0)),
                   array(over_image(a.ints("window"), 1)), array(over_image(a.ints("strides"), 1))),
       {region("compare", dtype, DType::kBool, comparison("GE", dtype)), combiner("add", dtype)});
}

void Printer::write_all_reduce(const Node& node) {
  const int64_t ranks = node.attrs.integer("ranks");
  Ints group(static_cast<size_t>(ranks));
  std::iota(group.begin(), group.end(), 0);
  emit(node, "all_reduce", operands(node),
       fmt::format("replica_groups = dense<[{}]> : tensor<1x{}xi64>", list(group), ranks),
       {combiner("add", node.types[0].dtype)});
}

// StableHLO's barrier returns all of its operands; only the first is wanted here.
void Printer::write_barrier(const Node& node) {
  std::vector<TensorType> types;
  for (const Tensor& input : node.inputs) types.push_back(input.type());
  line(fmt::format("%{}:{}", node.id, types.size()), "stablehlo.optimization_barrier",
       operands(node), "", types, {});
}

void Printer::write(const Node& node) {
  using Writer = void (Printer::*)(const Node&);
  static const std::unordered_map<const Op*, Writer> kWriters = {
      {&op_dot_general, &Printer::write_dot},
      {&op_convolution, &Printer::write_convolution},
      {&op_slice, &Printer::write_slice},
      {&op_pad, &Printer::write_pad},
      {&op_reduce, &Printer::write_reduce},
      {&op_reduce_window, &Printer::write_reduce_window},
      {&op_select_and_scatter, &Printer::write_select_and_scatter},
      {&op_all_reduce, &Printer::write_all_reduce},
      {&op_optimization_barrier, &Printer::write_barrier},
  };
  if (auto writer = kWriters.find(node.op); writer != kWriters.end())
    return (this->*writer->second)(node);
  const Attrs& a = node.attrs;
  std::string attributes;
  if (node.op == &op_constant) {
    attributes = "value = " + literal_text(a.literal("value"));
  } else if (node.op == &op_iota) {
    attributes = fmt::format("iota_dimension = {} : i64", a.integer("axis"));
  } else if (node.op == &op_transpose) {
    attributes = "permutation = " + array(a.ints("permutation"));
  } else if (node.op == &op_broadcast_in_dim) {
    attributes = "broadcast_dimensions = " + array(a.ints("dims"));
  } else if (node.op == &op_reverse) {
    attributes = "dimensions = " + array(a.ints("dims"));
  } else if (node.op == &op_concatenate) {
    attributes = fmt::format("dimension = {} : i64", a.integer("axis"));
  } else if (node.op == &op_compare) {
    attributes = comparison(a.text("direction"), node.inputs[0].dtype());
  } else if (!node.op->elementwise && node.op != &op_reshape) {
    throw Error("stablehlo", "{} has no StableHLO form", node.op->name);
  }
  emit(node, node.op->name, operands(node), attributes);
}

// Ranks that the graph's all_reduces join; 1 without any.
int64_t replicas_of(const Graph& graph) {
  int64_t replicas = 1;
  for (const auto& node : graph.nodes) {
    if (node->op == &op_all_reduce) replicas = std::max(replicas, node->attrs.integer("ranks"));
  }
  return replicas;
}

}  // namespace

std::string emit(const Graph& graph, const EmitOptions& options) {
  const Graph legal = legalize(graph);
  return fmt::format(
      "module @{} attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = {} : i32}} "
      "{{\n{}}}\n",
      options.module_name, replicas_of(legal), Printer(legal).function(options.donate));
}

}  // namespace centavo::stablehlo
