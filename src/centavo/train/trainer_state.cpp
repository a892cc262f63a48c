// TrainerState as JSON, under the names that Hugging Face's Trainer gives them where it has them.
#include <cmath>
#include <limits>

#include "centavo/io/json.h"
#include "centavo/train/checkpoint.h"

namespace centavo {
namespace {

double share(int64_t hits, const std::optional<EvalCounts>& eval) {
  if (!eval || eval->samples == 0) return 0;
  return 100.0 * static_cast<double>(hits) / static_cast<double>(eval->samples);
}

// JSON has no infinity or NaN: they are written as null.
double number(const nlohmann::json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

io::Json json_of(const EpochResult& r) {
  io::Json json = {
      {"epoch", r.epoch}, {"train_loss", r.train_loss}, {"seconds", r.seconds}, {"lr", r.lr}};
  if (r.eval) {
    json["eval"] = {{"loss_sum", r.eval->loss_sum},
                    {"samples", r.eval->samples},
                    {"top1", r.eval->top1},
                    {"top5", r.eval->top5}};
  }
  return json;
}

EpochResult result_of(const nlohmann::json& json) {
  EpochResult r{json.at("epoch"),
                number(json.at("train_loss")),
                number(json.at("seconds")),
                number(json.at("lr")),
                {}};
  if (json.contains("eval")) {
    const auto& eval = json.at("eval");
    r.eval = {number(eval.at("loss_sum")), eval.at("samples"), eval.at("top1"), eval.at("top5")};
  }
  return r;
}

}  // namespace

double EpochResult::top1() const {
  return share(eval ? eval->top1 : 0, eval);
}
double EpochResult::top5() const {
  return share(eval ? eval->top5 : 0, eval);
}
double EpochResult::eval_loss() const {
  return eval && eval->samples > 0 ? eval->loss_sum / static_cast<double>(eval->samples) : 0;
}

const EpochResult* TrainerState::best() const {
  const EpochResult* best = nullptr;
  for (const EpochResult& r : log_history) {
    if (r.eval && (!best || r.top1() > best->top1())) best = &r;
  }
  return best;
}

void TrainerState::rescale(int64_t samples) {
  if (global_batch > 0) batch = batch * global_batch / samples;
  global_batch = samples;
}

std::string to_json(const TrainerState& state) {
  io::Json json = {{"global_step", state.step},
                   {"epoch", state.epoch},
                   {"batch", state.batch},
                   {"global_batch_size", state.global_batch},
                   {"epoch_loss_sum", state.loss_sum},
                   {"epoch_loss_count", state.loss_count}};
  const EpochResult* best = state.best();
  json["best_metric"] = best ? io::Json(best->top1()) : io::Json();
  json["log_history"] = io::Json::array();
  for (const EpochResult& r : state.log_history) json["log_history"].push_back(json_of(r));
  return json.dump(2) + "\n";
}

TrainerState trainer_state_from_json(const std::string& text, const std::filesystem::path& path) {
  const nlohmann::json json = io::parse_json(text, path.string());
  try {
    TrainerState state{json.at("global_step"),
                       json.at("epoch"),
                       json.at("batch"),
                       json.at("global_batch_size"),
                       number(json.at("epoch_loss_sum")),
                       json.at("epoch_loss_count"),
                       {}};
    for (const auto& entry : json.at("log_history")) state.log_history.push_back(result_of(entry));
    if (state.step < 0 || state.epoch < 0 || state.batch < 0)
      throw Error(path.string(), "a count is negative; resume from another checkpoint");
    return state;
  } catch (const nlohmann::json::exception& e) {
    throw Error(path.string(), "not the state of a run ({}); resume from another checkpoint",
                e.what());
  }
}

}  // namespace centavo
