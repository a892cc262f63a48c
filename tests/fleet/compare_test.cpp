// compare, plan and explain: marks, prices, refusals, measured rows, spot arithmetic, constraints;
// and the four forms of a table.
#include "centavo/fleet/compare.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "centavo/base/error.h"
#include "centavo/base/philox.h"
#include "centavo/fleet/architectures.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/fleet/explain.h"
#include "centavo/fleet/plan.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::ThrowsMessage;

class Compare : public ::testing::Test {
 protected:
  CompareRequest request(const std::string& instances) const {
    CompareRequest r;
    r.workload = describe_architecture({"vit_base_patch16_224", 16, "bf16", "adam", 0});
    r.instances = instances;
    return r;
  }
  const CompareRow& row(const Comparison& c, const std::string& name) const {
    auto found = std::find_if(c.rows.begin(), c.rows.end(),
                              [&](const CompareRow& r) { return r.instance == name; });
    if (found == c.rows.end()) throw std::runtime_error("no row " + name);
    return *found;
  }
  Predictor predictor_ = Predictor::load(data_dir());
  PriceBook prices_ = PriceBook::load(data_dir());
};

TEST_F(Compare, MarksTheCheapestTheFastestAndTheParetoSet) {
  const Comparison c =
      compare(request("trn1.*,inf2.*,g5.*,p4d.*,g6e.*,c7i.2xlarge"), predictor_, prices_);
  int cheapest = 0, fastest = 0;
  for (const CompareRow& a : c.rows) {
    cheapest += a.cheapest, fastest += a.fastest;
    bool dominated = false;
    for (const CompareRow& b : c.rows) {
      EXPECT_TRUE(!a.cheapest || a.usd_per_million() <= b.usd_per_million());
      EXPECT_TRUE(!a.fastest || a.samples_per_second >= b.samples_per_second);
      dominated |=
          b.usd_per_million() < a.usd_per_million() && b.samples_per_second > a.samples_per_second;
    }
    EXPECT_EQ(a.pareto, !dominated) << a.instance;
    EXPECT_NEAR(a.usd_per_million(), a.usd_per_hour() / (3600 * a.samples_per_second) * 1e6, 1e-9);
    EXPECT_GT(a.band, 0);
    EXPECT_FALSE(a.bound.empty());
  }
  EXPECT_EQ(cheapest, 1);
  EXPECT_EQ(fastest, 1);
  EXPECT_TRUE(std::is_sorted(c.rows.begin(), c.rows.end(), [](const auto& a, const auto& b) {
    return a.usd_per_million() < b.usd_per_million();
  }));
}

TEST_F(Compare, RefusalsSayWhyAndMissingPricesAreSaid) {
  const Comparison c =
      compare(request("inf1.*,trn1.2xlarge,p5e.*,p6-b300.*,g4dn.xlarge"), predictor_, prices_);
  const auto why = [&](const std::string& name) {
    for (const Refusal& r : c.refused)
      if (r.instance == name) return r.why;
    return std::string("not refused");
  };
  EXPECT_THAT(why("inf1.xlarge"), HasSubstr("no training stack"));
  EXPECT_THAT(why("p6-b300.48xlarge"), HasSubstr("no peak rates"));
  EXPECT_THAT(why("g4dn.xlarge"), HasSubstr("does not multiply in bf16"));
  EXPECT_FALSE(row(c, "p5e.48xlarge").price.has_value());
  EXPECT_EQ(c.rows.back().instance, "p5e.48xlarge");  // rows without a price stand last
  EXPECT_FALSE(row(c, "p5e.48xlarge").pareto);
  CompareRequest two = request("inf2.*,trn1.*");
  two.setup.instances = 2;
  const Comparison pair = compare(two, predictor_, prices_);
  EXPECT_EQ(pair.rows.size(), 1u);
  EXPECT_EQ(pair.rows[0].workers, 64);
  EXPECT_DOUBLE_EQ(pair.rows[0].usd_per_hour(), 43);
  EXPECT_THAT([&] { compare(request("inf1.*"), predictor_, prices_); },
              ThrowsMessage<Error>(HasSubstr("no instance type can run this")));
  EXPECT_THAT([&] { compare(request("trm1.*"), predictor_, prices_); },
              ThrowsMessage<Error>(HasSubstr("matches 'trm1.*'")));
}

TEST_F(Compare, MeasuredRowsReplaceAndScalePredictions) {
  CompareRequest r = request("c7i.2xlarge,c7i.4xlarge,trn1.2xlarge");
  const Comparison before = compare(r, predictor_, prices_);
  TrainingRow measured;
  measured.model = r.workload.model, measured.batch = 16, measured.precision = "bf16",
  measured.optimizer = "adam";
  measured.instance = "c7i.2xlarge";
  measured.samples_per_second = 2 * row(before, "c7i.2xlarge").samples_per_second;
  measured.software = "NHWC";
  r.measured = {measured};
  TrainingRow own = measured;
  own.instance.clear();
  own.chip = "2 cores of some machine";
  own.samples_per_second = 3.5;
  r.measured.push_back(own);
  const Comparison after = compare(r, predictor_, prices_);
  EXPECT_TRUE(row(after, "c7i.2xlarge").measured);
  EXPECT_EQ(row(after, "c7i.2xlarge").band, 0);
  EXPECT_DOUBLE_EQ(row(after, "c7i.2xlarge").samples_per_second, measured.samples_per_second);
  EXPECT_NEAR(row(after, "c7i.2xlarge").seconds, 16 / measured.samples_per_second, 1e-9);
  // One row that is twice as fast pulls the other CPU half of the way, and no other kind of chip.
  EXPECT_NEAR(
      row(after, "c7i.4xlarge").samples_per_second / row(before, "c7i.4xlarge").samples_per_second,
      std::sqrt(2), 1e-6);
  EXPECT_DOUBLE_EQ(row(after, "trn1.2xlarge").samples_per_second,
                   row(before, "trn1.2xlarge").samples_per_second);
  EXPECT_THAT(after.assumptions, Contains(HasSubstr("cpu predictions scaled by 1.41")));
  EXPECT_FALSE(row(after, "(this machine)").price.has_value());
  EXPECT_TRUE(row(after, "(this machine)").measured);
}

TEST_F(Compare, AMeasuredRowOfAnotherImageSizeIsNoMeasurementOfThisOne) {
  CompareRequest r = request("c7i.2xlarge");
  TrainingRow measured;
  measured.model = r.workload.model, measured.batch = 16, measured.precision = "bf16",
  measured.optimizer = "adam", measured.instance = "c7i.2xlarge", measured.samples_per_second = 9;
  for (const auto& [size, same] : {std::pair{0, true}, {224, true}, {384, false}}) {
    measured.size = size;
    r.measured = {measured};
    EXPECT_EQ(compare(r, predictor_, prices_).rows[0].measured, same) << size;
  }
  r.workload = describe_architecture({"vit_base_patch16_224", 16, "bf16", "adam", 384});
  EXPECT_TRUE(compare(r, predictor_, prices_).rows[0].measured);
  r.measured[0].size = 0;  // the model's own
  EXPECT_FALSE(compare(r, predictor_, prices_).rows[0].measured);
}

TEST_F(Compare, PricesThatBecameKnownLaterAreNamed) {
  CompareRequest r = request("p4d.*,p5.48xlarge,p5e.*,trn1.2xlarge");
  r.prices = price_choice_from_text("2023-08");
  const Comparison c = compare(r, predictor_, prices_);
  EXPECT_FALSE(row(c, "p4d.24xlarge").price.has_value());
  EXPECT_THAT(c.assumptions,
              IsSupersetOf({HasSubstr("price of p5.48xlarge, p4d.24xlarge is known by 2023-08: the "
                                      "first known is of 2023-11"),
                            HasSubstr("no on-demand price at all is known of 1 of")}));
}

TEST_F(Compare, EveryFigureCarriesItsSourceInEveryForm) {
  CompareRequest r = request("trn1.2xlarge,trn2.48xlarge,inf1.xlarge");
  const Comparison c = compare(r, predictor_, prices_);
  const std::string text = compare_text(c, TableFormat::kTable);
  EXPECT_THAT(text,
              AllOf(HasSubstr("SEC/STEP"), HasSubstr("$/1M SAMPLES"), HasSubstr("predicted +-"),
                    HasSubstr("cheapest"), HasSubstr("not inf1.xlarge: "),
                    HasSubstr("on-demand, us-east-1, 2026-09"), HasSubstr("35.8~"),
                    HasSubstr("one secondary source")));
  const auto json = io::parse_json(compare_text(c, TableFormat::kJson), "test");
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["price"].get<std::string>().substr(0, 9), "on-demand");
  EXPECT_GT(json["rows"][0]["band"].get<double>(), 0);
  EXPECT_NEAR(json["rows"][0]["usd_per_million_samples"].get<double>(), c.rows[0].usd_per_million(),
              1e-9);
  EXPECT_EQ(json["refused"][0]["instance"], "inf1.xlarge");
  const std::string csv = compare_text(c, TableFormat::kCsv);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_THAT(csv, HasSubstr("instance,chips,workers,step_seconds"));
  EXPECT_THAT(compare_text(c, TableFormat::kMarkdown),
              AllOf(HasSubstr("| INSTANCE |"), HasSubstr("| ---: |")));
}

TEST(ResultTable, AlignsNumbersAndEscapes) {
  ResultTable table({{"NAME", "name"}, {"N", "n"}});
  table.add({"a|b", Cell(1.5, "1.50")});
  table.add({"c,\"d\"", Cell(10, "10.00")});
  table.add({"\xC3\xA9", Cell()});
  EXPECT_EQ(table.to_string(TableFormat::kTable),
            "NAME       N\na|b     1.50\nc,\"d\"  10.00\n\xC3\xA9\n");
  EXPECT_EQ(table.to_string(TableFormat::kCsv), "name,n\na|b,1.5\n\"c,\"\"d\"\"\",10\n\xC3\xA9,\n");
  EXPECT_THAT(table.to_string(TableFormat::kMarkdown), HasSubstr("| a\\|b | 1.50 |"));
  EXPECT_TRUE(io::parse_json(table.to_string(TableFormat::kJson), "t")[2]["n"].is_null());
  EXPECT_THAT([] { table_format_from_name("jsno"); },
              ThrowsMessage<Error>(HasSubstr("did you mean 'json'")));
}

class Planning : public Compare {
 protected:
  PlanRequest job() const {
    PlanRequest r;
    r.describe = [](int batch, const std::string& precision) {
      return describe_architecture({"vit_base_patch16_224", batch, precision, "adamw", 0});
    };
    r.batches = {16, 64};
    r.precisions = {"bf16", "amp-fp16"};
    r.samples = 1.28e6;
    r.epochs = 30;
    r.instances = "trn1.*,inf2.*,g5.*,p4d.*,g6e.*";
    r.max_instances = 4;
    return r;
  }
};

TEST_F(Planning, RanksByCostAndRespectsConstraints) {
  PlanRequest r = job();
  const Plan free = plan(r, predictor_, prices_);
  ASSERT_TRUE(free.possible());
  for (const PlanOption& o : free.options) {
    EXPECT_GE(o.usd, free.options.front().usd);
    EXPECT_NEAR(o.usd, o.hours * o.row.usd_per_hour(), 1e-9);
    EXPECT_NEAR(o.hours, 1.28e6 * 30 / o.row.samples_per_second / 3600, 1e-9);
    EXPECT_EQ(o.chance, 1);
  }
  const double cheap_hours = free.options.front().hours;
  r.deadline_hours = 0.5 * cheap_hours;
  const Plan late = plan(r, predictor_, prices_);
  ASSERT_TRUE(late.possible());
  EXPECT_LE(late.options.front().hours, *r.deadline_hours);
  EXPECT_GT(late.options.front().usd, free.options.front().usd);
  EXPECT_THAT(late.notes, Contains(HasSubstr("the deadline binds")));
  for (const PlanOption& o : late.options) {
    EXPECT_EQ(o.chance >= 0.5, o.hours <= *r.deadline_hours) << o.row.instance;
    EXPECT_GT(o.chance, 0);
  }
  r.budget_usd = 0.9 * free.options.front().usd;
  const Plan none = plan(r, predictor_, prices_);
  EXPECT_FALSE(none.possible());
  EXPECT_THAT(none.notes, Contains(HasSubstr("no way stays within the budget")));
  r.budget_usd = 1.01 * free.options.front().usd;
  EXPECT_THAT(plan(r, predictor_, prices_).notes, Contains(HasSubstr("exclude each other")));
  r.budget_usd.reset();
  r.deadline_hours = 1e-3;
  const Plan impossible = plan(r, predictor_, prices_);
  EXPECT_FALSE(impossible.possible());
  EXPECT_THAT(impossible.notes, Contains(HasSubstr("no way meets the deadline")));
  EXPECT_THAT(plan_text(impossible, TableFormat::kTable, 5), HasSubstr("late"));
}

TEST_F(Planning, TypesWithoutAPriceOrThatDoNotFitAreNamed) {
  PlanRequest r = job();
  r.instances = "p5e.*,trn1.2xlarge";
  const Plan p = plan(r, predictor_, prices_);
  ASSERT_EQ(p.refused.size(), 1u);
  EXPECT_THAT(p.refused[0].why, HasSubstr("no on-demand price"));
  r.prices = price_choice_from_text("spot");
  EXPECT_THAT([&] { plan(r, predictor_, prices_); },
              ThrowsMessage<Error>(HasSubstr("no spot price")));
  r = job();
  r.samples = 0;
  EXPECT_THAT([&] { plan(r, predictor_, prices_); },
              ThrowsMessage<Error>(HasSubstr("must be positive")));
  // A batch too large for memory is recomputed or left out, never guessed.
  r = job();
  r.instances = "g5.xlarge";
  r.batches = {256};
  r.precisions = {"amp-fp16"};
  EXPECT_TRUE(plan(r, predictor_, prices_).options.front().recompute);
}

TEST_F(Planning, SpotIsCheaperPerHourAndLosesWork) {
  PlanRequest r = job();
  r.instances = "g5.xlarge";
  r.prices = price_choice_from_text("spot");
  PriceBook book = prices_;
  book.add(
      {"g5.xlarge", 0.4, PriceKind::kSpot, "us-east-1", "us-east-1a", {"test", "2026-11"}, false});
  const Plan p = plan(r, predictor_, book);
  const PlanOption& o = p.options.front();
  ASSERT_TRUE(o.spot.has_value());
  EXPECT_GT(o.spot->overhead, 0);
  EXPECT_LT(o.spot->overhead, 0.2);
  EXPECT_NEAR(o.hours,
              r.samples * r.epochs / o.row.samples_per_second / 3600 * (1 + o.spot->overhead),
              1e-9);
  EXPECT_THAT(plan_text(p, TableFormat::kTable, 5),
              AllOf(HasSubstr("each "), HasSubstr("spot, us-east-1a, 2026-11")));
}

// Against a simulation of failures: exponential interruptions, lost work since the last checkpoint.
TEST(SpotCost, DalysFormulaMatchesASimulation) {
  const double work = 40 * 3600, mean_between = 3 * 3600, checkpoint = 60, restart = 300;
  const SpotCost cost = spot_cost(work, mean_between, checkpoint, restart);
  EXPECT_NEAR(cost.interval_seconds, std::sqrt(2 * checkpoint * mean_between),
              0.1 * cost.interval_seconds);  // Young
  Philox rng(9);
  double sum = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    const auto interruption = [&] {
      return -mean_between * std::log1p(-static_cast<double>(rng.next_uniform()));
    };
    double time = 0, done = 0, next = interruption();
    while (done < work) {
      const double segment = std::min(cost.interval_seconds, work - done) + checkpoint;
      if (time + segment <= next) {
        time += segment;
        done += segment - checkpoint;
        continue;
      }
      time = next + restart;
      next = time + interruption();
    }
    sum += time;
  }
  EXPECT_NEAR(sum / kRuns / work - 1, cost.overhead, 0.02);
  // The interval is the best one: shorter and longer ones cost more.
  for (double factor : {0.5, 2.0}) {
    const double interval = factor * cost.interval_seconds;
    const double total = mean_between * std::exp(restart / mean_between) *
                         std::expm1((interval + checkpoint) / mean_between) * work / interval;
    EXPECT_GT(total / work - 1, cost.overhead);
  }
}

TEST_F(Compare, ExplainAddsUpAndItsSuggestionsHold) {
  const Workload w = describe_architecture({"vit_base_patch16_224", 8, "bf16", "adam", 0});
  const Workload larger = describe_architecture({"vit_base_patch16_224", 16, "bf16", "adam", 0});
  const Instance& inf2 = predictor_.catalogue().instance("inf2.xlarge");
  const Explanation e = explain(inf2, w, {}, &larger, predictor_);
  const auto rows = io::parse_json(explain_table(e).to_string(TableFormat::kJson), "test");
  double sum = 0;
  for (const auto& r : rows) sum += r["part"] == "step" ? 0 : r["ms"].get<double>();
  EXPECT_NEAR(sum, 1e3 * e.prediction.seconds, 1e-6 * sum);
  ASSERT_FALSE(e.suggestions.empty());
  for (const Suggestion& s : e.suggestions)
    EXPECT_GT(s.samples_per_second, e.prediction.samples_per_second);
  const std::string text = explain_text(e, TableFormat::kTable);
  EXPECT_THAT(text, AllOf(HasSubstr("tracing and launching"), HasSubstr("10 steps per launch"),
                          HasSubstr("twice the batch (16 a worker)"),
                          HasSubstr("a host with twice the cores"), HasSubstr("predicted")));
  EXPECT_GT(
      io::parse_json(explain_text(e, TableFormat::kJson), "test")["memory_available"].get<double>(),
      1e9);
}

}  // namespace
}  // namespace centavo::fleet
