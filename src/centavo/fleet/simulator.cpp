// The event loop. Events: a CPU job ends on some host, or the training processes go on to their
// next step. Everything on the devices follows from them without events of its own, because kernels
// are not interrupted and an all-reduce joins all workers.
#include "centavo/fleet/simulator.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "centavo/base/error.h"
#include "centavo/base/philox.h"
#include "centavo/fleet/host_cpu.h"

namespace centavo::fleet {
namespace {

constexpr int kWarmupSteps = 6;
constexpr int kFedBatches = 2;                // that wait on their way to the device
constexpr int64_t kMaxWorkerSteps = 200'000;  // keeps 10,000 instances within seconds

// One worker's training process and its loader: batches are made, fed (received and converted, by a
// thread of the training process) and taken.
struct Worker {
  int making = 0, made = 0;  // by loader workers
  bool feeding = false;
  int fed = 0;           // ready to be taken
  bool waiting = false;  // for a batch
  double since = 0;      // when it began to wait
  int step = 0;          // the next step to launch
  double waited = 0;     // for the last batch
};

// One step over all workers.
struct Step {
  int arrived = 0;    // workers that have launched it
  double ready = -1;  // when the last of them had its batch on the device
  double waited = 0;  // how long that one waited for its batch
  double begin = 0, end = -1;
};

class Simulation {
 public:
  Simulation(const StepPlan& plan, uint64_t seed) : p_(plan), rng_(seed) {
    const int instances = plan.batch_variation > 0 ? plan.instances : 1;
    const int64_t workers = int64_t{instances} * plan.workers;
    const int64_t wanted = plan.batch_variation > 0 ? 100 : 56;
    const int64_t measured = std::clamp<int64_t>(kMaxWorkerSteps / workers, 6, wanted);
    hosts_.assign(static_cast<size_t>(instances), HostCpu(plan.cores, plan.vcpus));
    workers_.resize(static_cast<size_t>(workers));
    steps_.resize(static_cast<size_t>(kWarmupSteps + measured));
    double channel = 0;  // the links are busy until then, s after backward began
    for (const StepPlan::Bucket& bucket : p_.buckets)
      channel =
          std::max(channel, p_.reduce_overlaps ? bucket.ready : p_.backward) + bucket.all_reduce;
    exposed_ = std::max(0.0, channel - p_.backward);
  }

  SimulatedStep run() {
    next_step(0);
    while (steps_.back().end < 0) {
      CENTAVO_CHECK(!events_.empty());
      const Event event = events_.top();
      events_.pop();
      if (event.host < 0)
        next_step(event.time);
      else
        end_job(event.time, static_cast<size_t>(event.host));
    }
    return result();
  }

 private:
  enum Kind { kBatch, kFeed, kLaunch, kKinds };
  struct Event {
    double time;
    int64_t host;  // -1: training processes go on
    bool operator>(const Event& other) const {
      return time > other.time || (time == other.time && host > other.host);
    }
  };

  void start(double now, size_t w, double work, Kind kind) {
    const size_t host = w / static_cast<size_t>(p_.workers);
    hosts_[host].start(now, work, static_cast<int64_t>(w) * kKinds + kind);
    schedule(host);
  }

  void schedule(size_t host) {
    if (!hosts_[host].idle()) events_.push({hosts_[host].next_end(), static_cast<int64_t>(host)});
  }

  void end_job(double now, size_t host) {
    // A later start on this host has moved its next end: the event that says so is still queued.
    if (hosts_[host].idle() || hosts_[host].next_end() != now) return;
    ++events_handled_;
    const int64_t job = hosts_[host].finish(now);
    schedule(host);
    const size_t w = static_cast<size_t>(job / kKinds);
    Worker& worker = workers_[w];
    switch (job % kKinds) {
      case kBatch:
        --worker.making, ++worker.made;
        break;
      case kFeed:
        worker.feeding = false, ++worker.fed;
        break;
      case kLaunch:
        return launched(now, w);
    }
    go_on(now, w);
  }

  // The time of one batch: exponential above a constant part, so that its variation is as asked.
  double batch_work() {
    if (p_.batch_variation <= 0) return p_.batch_cpu;
    const double exponential = -std::log1p(-static_cast<double>(rng_.next_uniform()));
    return p_.batch_cpu * (1 + p_.batch_variation * (exponential - 1));
  }

  // Everything of a worker that can start: taking a batch, feeding the next, making more while
  // fewer than `prefetch` for each loader worker are made or in the making.
  void go_on(double now, size_t w) {
    Worker& worker = workers_[w];
    if (worker.waiting && worker.fed > 0) {
      worker.waiting = false;
      --worker.fed;
      worker.waited = now - worker.since;
      start(now, w, p_.launch_cpu / p_.steps_per_launch, kLaunch);
    }
    if (!worker.feeding && worker.made > 0 && worker.fed < kFedBatches) {
      worker.feeding = true;
      --worker.made;
      start(now, w, p_.feed_cpu, kFeed);
    }
    while (worker.making < p_.loader_workers &&
           worker.made + worker.making < p_.prefetch * p_.loader_workers) {
      ++worker.making;
      start(now, w, batch_work(), kBatch);
    }
  }

  void next_step(double now) {
    ++events_handled_;
    for (size_t w = 0; w < workers_.size(); ++w) {
      workers_[w].waiting = true;
      workers_[w].since = now;
      go_on(now, w);
    }
  }

  void launched(double now, size_t w) {
    Worker& worker = workers_[w];
    const size_t index = static_cast<size_t>(worker.step++);
    Step& step = steps_[index];
    if (now + p_.copy > step.ready) {
      step.ready = now + p_.copy;
      step.waited = worker.waited;
    }
    if (++step.arrived < static_cast<int>(workers_.size())) return;
    // All workers have launched: the step runs through, all-reduces joining them.
    step.begin = std::max(step.ready, index > 0 ? steps_[index - 1].end : 0);
    step.end = step.begin + p_.forward + p_.backward + exposed_ + p_.optimizer;
    if (index + 1 < steps_.size()) events_.push({p_.launch_overlaps ? step.begin : step.end, -1});
  }

  SimulatedStep result() const {
    SimulatedStep r;
    const size_t first = kWarmupSteps;
    const double count = static_cast<double>(steps_.size() - first);
    for (size_t i = first; i < steps_.size(); ++i) {
      // Between two steps the device waits for a batch, its launch and its copy. A host that runs
      // ahead hides its launches behind the wait, so the wait counts first.
      const double gap = steps_[i].begin - steps_[i - 1].end;
      const double copy = std::min(gap, p_.copy), input = std::min(gap - copy, steps_[i].waited);
      r.copy += copy / count;
      r.input += input / count;
      r.launch += (gap - copy - input) / count;
    }
    r.seconds = (steps_.back().end - steps_[first - 1].end) / count;
    r.compute = p_.forward + p_.backward + p_.optimizer;
    r.network = exposed_;
    r.events = events_handled_;
    return r;
  }

  const StepPlan& p_;
  Philox rng_;
  double exposed_ = 0;
  std::vector<HostCpu> hosts_;
  std::vector<Worker> workers_;
  std::vector<Step> steps_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int64_t events_handled_ = 0;
};

}  // namespace

SimulatedStep simulate(const StepPlan& plan, uint64_t seed) {
  CENTAVO_CHECK(plan.instances >= 1 && plan.workers >= 1 && plan.loader_workers >= 1 &&
                plan.prefetch >= 1);
  CENTAVO_CHECK(plan.steps_per_launch >= 1 && plan.batch_variation >= 0 &&
                plan.batch_variation <= 1);
  return Simulation(plan, seed).run();
}

}  // namespace centavo::fleet
