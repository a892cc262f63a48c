// The step simulator and the collectives model against closed forms, and properties that must hold
// for any plan.
#include "centavo/fleet/simulator.h"

#include <cmath>
#include <ctime>
#include <gtest/gtest.h>

#include "centavo/base/philox.h"
#include "centavo/fleet/collectives.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/fleet/host_cpu.h"

namespace centavo::fleet {
namespace {

double between(Philox& rng, double low, double high) {
  return low + (high - low) * static_cast<double>(rng.next_uniform());
}

StepPlan random_plan(Philox& rng) {
  StepPlan plan;
  plan.instances = 1 + static_cast<int>(rng.next_below(4));
  plan.workers = 1 + static_cast<int>(rng.next_below(8));
  plan.cores = 1 + static_cast<int>(rng.next_below(32));
  plan.vcpus = plan.cores * (1 + static_cast<int>(rng.next_below(2)));
  plan.loader_workers = 1 + static_cast<int>(rng.next_below(4));
  plan.prefetch = 1 + static_cast<int>(rng.next_below(3));
  plan.batch_cpu = between(rng, 0, 0.2);
  plan.batch_variation = rng.next_below(2) ? between(rng, 0.1, 1) : 0;
  plan.launch_cpu = between(rng, 0, 0.05);
  plan.launch_overlaps = rng.next_below(2) == 1;
  plan.copy = between(rng, 0, 0.01);
  plan.forward = between(rng, 0.001, 0.1);
  plan.backward = between(rng, 0.001, 0.2);
  plan.optimizer = between(rng, 0, 0.02);
  const int buckets = static_cast<int>(rng.next_below(12));
  for (int i = 0; i < buckets; ++i)
    plan.buckets.push_back({plan.backward * (i + 1) / buckets, between(rng, 0, 0.03)});
  plan.reduce_overlaps = rng.next_below(2) == 1;
  return plan;
}

double parts(const SimulatedStep& s) {
  return s.input + s.launch + s.copy + s.compute + s.network;
}

TEST(HostCpu, SharesCoresEqually) {
  HostCpu cpu(2, 4);
  cpu.start(0, 1.0, 7);
  EXPECT_DOUBLE_EQ(cpu.next_end(), 1.0);
  cpu.start(0, 1.0, 8);
  EXPECT_DOUBLE_EQ(cpu.next_end(), 1.0);  // a core each
  cpu.start(0.5, 1.0, 9);                 // three threads on 2.25 cores
  EXPECT_DOUBLE_EQ(cpu.next_end(), 0.5 + 0.5 / 0.75);
  EXPECT_EQ(cpu.finish(cpu.next_end()), 7);
  EXPECT_EQ(cpu.finish(cpu.next_end()), 8);
  EXPECT_NEAR(cpu.next_end(), 0.5 + 0.5 / 0.75 + 0.5, 1e-12);  // alone again
}

TEST(Simulator, SerialLaunchIsTheSumOfItsParts) {
  StepPlan plan;
  plan.cores = plan.vcpus = 8;
  plan.launch_cpu = 0.02, plan.copy = 0.003, plan.forward = 0.05, plan.backward = 0.1,
  plan.optimizer = 0.01;
  const SimulatedStep step = simulate(plan);
  EXPECT_NEAR(step.seconds, 0.183, 1e-9);
  EXPECT_NEAR(step.launch, 0.02, 1e-9);
  EXPECT_NEAR(step.copy, 0.003, 1e-9);
  EXPECT_NEAR(step.compute, 0.16, 1e-9);
  plan.steps_per_launch = 10;
  EXPECT_NEAR(simulate(plan).seconds, 0.165, 1e-9);
}

TEST(Simulator, OverlappedLaunchTakesTheLongerOfHostAndDevice) {
  StepPlan plan;
  plan.cores = plan.vcpus = 8;
  plan.launch_overlaps = true;
  plan.forward = 0.05, plan.backward = 0.1;
  plan.launch_cpu = 0.12;
  EXPECT_NEAR(simulate(plan).seconds, 0.15, 1e-9);
  plan.launch_cpu = 0.2;
  const SimulatedStep bound = simulate(plan);
  EXPECT_NEAR(bound.seconds, 0.2, 1e-9);
  EXPECT_NEAR(bound.launch, 0.05, 1e-9);
}

TEST(Simulator, InputBoundStepsTakeTheLoadersTime) {
  StepPlan plan;
  plan.cores = plan.vcpus = 16;
  plan.loader_workers = 4, plan.batch_cpu = 0.8, plan.forward = 0.1;
  const SimulatedStep step = simulate(plan);  // four loader workers on their own cores
  EXPECT_NEAR(step.seconds, 0.2, 0.011);
  EXPECT_NEAR(step.input, 0.1, 0.011);
  plan.cores = plan.vcpus = 2;  // four loader workers on two cores
  EXPECT_NEAR(simulate(plan).seconds, 0.4, 0.02);
}

TEST(Simulator, BucketsOverlapBackwardAsTheClosedFormSays) {
  StepPlan plan;
  plan.cores = plan.vcpus = 4;
  plan.forward = 0.1, plan.backward = 0.2;
  plan.buckets = {{0.05, 0.03}, {0.1, 0.03}, {0.2, 0.04}};  // only the last is exposed
  EXPECT_NEAR(simulate(plan).network, 0.04, 1e-12);
  plan.buckets = {{0.05, 0.12}, {0.1, 0.12}, {0.2, 0.12}};  // the links are the bottleneck
  EXPECT_NEAR(simulate(plan).network, 0.05 + 0.36 - 0.2, 1e-12);
  plan.reduce_overlaps = false;
  EXPECT_NEAR(simulate(plan).network, 0.36, 1e-12);
}

// Loader workers that compete with the training process for few cores slow its launch: the effect
// that sets an inf2.xlarge (two cores) apart from a trn1.2xlarge (four) with the same chip.
TEST(Simulator, LoadersSlowTheLaunchOnASmallHost) {
  StepPlan plan;
  plan.workers = 2, plan.loader_workers = 2, plan.batch_cpu = 0.026, plan.launch_cpu = 0.025,
  plan.forward = 0.04;
  plan.cores = 4, plan.vcpus = 8;
  const double large = simulate(plan).seconds;
  plan.cores = 2, plan.vcpus = 4;
  const double small = simulate(plan).seconds;
  EXPECT_NEAR(large, 0.065, 1e-6);  // two processes and two loader workers, a core each
  EXPECT_NEAR(small, 0.08, 0.002);  // 2.5 cores' worth for four threads while they compete
}

TEST(Simulator, SlowestPipelineOfManySetsThePace) {
  StepPlan plan;
  plan.cores = plan.vcpus = 64;
  plan.batch_cpu = 0.08, plan.batch_variation = 1, plan.forward = 0.1;
  const double one = simulate(plan).seconds;
  plan.workers = 16;
  const double sixteen = simulate(plan).seconds;
  EXPECT_GT(one, 0.1);
  EXPECT_GT(sixteen, 1.05 * one);
}

TEST(Simulator, PartsAddUpAndRepeat) {
  Philox rng(11);
  for (int i = 0; i < 60; ++i) {
    const StepPlan plan = random_plan(rng);
    const SimulatedStep a = simulate(plan, 5), b = simulate(plan, 5);
    EXPECT_EQ(a.seconds, b.seconds);
    EXPECT_NEAR(parts(a), a.seconds, 1e-9 + 1e-9 * a.seconds);
    EXPECT_GE(a.seconds, plan.forward + plan.backward + plan.optimizer - 1e-12);
    for (double part : {a.input, a.launch, a.copy, a.network}) EXPECT_GE(part, -1e-12);
  }
}

// More of anything never makes a step slower: up to 1 %, because steps that wait for loader workers
// vary in length and the average runs over a finite number of them.
TEST(Simulator, MoreIsNeverSlower) {
  Philox rng(12);
  for (int i = 0; i < 60; ++i) {
    StepPlan plan = random_plan(rng);
    plan.batch_variation = 0;
    const double base = simulate(plan).seconds, slack = base * 1.01;
    StepPlan more = plan;
    more.cores *= 2, more.vcpus *= 2;
    EXPECT_LE(simulate(more).seconds, slack);
    more = plan;
    for (StepPlan::Bucket& bucket : more.buckets) bucket.all_reduce /= 2;
    EXPECT_LE(simulate(more).seconds, slack);
    more = plan;
    more.launch_cpu /= 2;
    EXPECT_LE(simulate(more).seconds, slack);
    more = plan;
    more.copy /= 2, more.forward /= 2, more.optimizer /= 2;
    EXPECT_LE(simulate(more).seconds, slack);
    more = plan;
    more.reduce_overlaps = true;
    EXPECT_LE(simulate(more).seconds, slack);
  }
}

TEST(Simulator, AThousandInstancesTakeUnderASecond) {
  StepPlan plan;
  plan.instances = 1000, plan.workers = 32, plan.cores = 64, plan.vcpus = 128;
  plan.loader_workers = 2, plan.batch_cpu = 0.3, plan.batch_variation = 1;
  plan.launch_cpu = 0.02, plan.forward = 0.1, plan.backward = 0.2;
  for (int i = 0; i < 30; ++i) plan.buckets.push_back({0.2 * (i + 1) / 30, 0.005});
  const std::clock_t begin = std::clock();  // processor time: other programs do not count
  const SimulatedStep step = simulate(plan);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1.0)
      << step.events << " events";
  EXPECT_GT(step.events, 500'000);
}

Level level(LinkShape shape, int members) {
  Link link;
  link.shape = shape;
  link.hop = 2e-6, link.start = 10e-6, link.efficiency = 0.5, link.bandwidth = 100e9;
  return {link, members, link.bandwidth};
}

TEST(Collectives, ClosedForms) {
  const double s = 1e9, rate = 50e9;
  EXPECT_DOUBLE_EQ(all_reduce_seconds(level(LinkShape::kRing, 1), s), 0);
  EXPECT_NEAR(all_reduce_seconds(level(LinkShape::kRing, 8), s),
              10e-6 + 14 * 2e-6 + 1.75 * s / rate, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(level(LinkShape::kLine, 8), s), 10e-6 + 14 * 2e-6 + 3.5 * s / rate,
              1e-12);
  EXPECT_NEAR(all_reduce_seconds(level(LinkShape::kTorus, 16), s),
              10e-6 + 12 * 2e-6 + 1.875 * s / rate, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(level(LinkShape::kTree, 8), s), 10e-6 + 6 * 2e-6 + 2 * s / rate,
              1e-12);
}

TEST(Collectives, HierarchyMovesLessOutside) {
  const Level inner = level(LinkShape::kRing, 8);
  Level outer = level(LinkShape::kRing, 4);
  const double s = 8e8;
  EXPECT_NEAR(all_reduce_seconds(Topology{inner, outer}, s),
              all_reduce_seconds(inner, s) + all_reduce_seconds(outer, s / 8), 1e-12);
  // Over the network of many instances a tree's latency beats the ring's.
  outer.link.bandwidth = 0, outer.members = 4096;
  EXPECT_LT(all_reduce_seconds(Topology{outer}, 1e3), 1e-3);
  EXPECT_GT(all_reduce_seconds(outer, 1e3), 1e-2);
}

TEST(Collectives, PublishedPointsAreReproduced) {
  const Catalogue catalogue = Catalogue::load(data_dir());
  for (const char* name : {"neuroncore-pair", "neuronlink-v2-torus"}) {
    const Link& link = catalogue.link(name);
    ASSERT_GE(link.measured.size(), 5u);
    for (const Link::Point& point : link.measured)
      EXPECT_NEAR(all_reduce_seconds({link, link.measured_ranks, link.bandwidth}, point.bytes),
                  point.seconds, 1e-9 * point.seconds);
  }
  // Between the points the pair's closed form, fitted to them, stays close.
  Link pair = catalogue.link("neuroncore-pair");
  const std::vector<Link::Point> points = pair.measured;
  pair.measured_ranks = 0;
  for (const Link::Point& point : points)
    EXPECT_NEAR(all_reduce_seconds({pair, 2, pair.bandwidth}, point.bytes) / point.seconds, 1, 0.25)
        << point.bytes;
}

TEST(Collectives, MoreBandwidthOrFewerBytesIsNeverSlower) {
  const Catalogue catalogue = Catalogue::load(data_dir());
  Philox rng(3);
  for (const Instance* instance : catalogue.match("trn1*,inf2*,p4*,g5*,trn2*")) {
    for (int count : {1, 2, 64, 10000}) {
      Topology topology = topology_of(catalogue, *instance, instance->workers(), count);
      const double bytes = std::exp(between(rng, 5, 22));
      const double base = all_reduce_seconds(topology, bytes);
      EXPECT_LE(all_reduce_seconds(topology, bytes / 2), base * (1 + 1e-12)) << instance->name;
      for (Level& l : topology) l.bandwidth *= 2;
      EXPECT_LE(all_reduce_seconds(topology, bytes), base * (1 + 1e-12)) << instance->name;
    }
  }
}

}  // namespace
}  // namespace centavo::fleet
