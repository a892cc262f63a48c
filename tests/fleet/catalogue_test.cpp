// The catalogue and the price book: what they hold, and that faulty files are refused by name and
// line.
#include "centavo/fleet/catalogue.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "centavo/base/error.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/fleet/prices.h"
#include "centavo/io/file.h"

namespace centavo::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A private copy of the catalogue that a test may damage.
class CatalogueFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() /
           ("centavo-fleet-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(dir_);
    std::filesystem::copy(data_dir(), dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = io::read_file(dir_ / file);
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::ofstream(dir_ / file) << text.replace(at, from.size(), to);
  }
  std::string load_error() {
    try {
      Catalogue::load(dir_);
      PriceBook::load(dir_);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }

  std::filesystem::path dir_;
};

TEST(Catalogue, HoldsTheFamiliesThatTrainingUses) {
  Catalogue catalogue = Catalogue::load(data_dir());
  EXPECT_GE(catalogue.match("").size(), 150u);
  const Instance& trn1 = catalogue.instance("trn1.32xlarge");
  EXPECT_EQ(trn1.workers(), 32);
  EXPECT_EQ(trn1.link, "neuronlink-v2-torus");
  EXPECT_DOUBLE_EQ(trn1.network, 100e9);
  EXPECT_EQ(catalogue.instance("inf2.24xlarge").link, "neuronlink-v2-line");
  EXPECT_EQ(catalogue.instance("inf2.48xlarge").link, "neuronlink-v2-ring");
  EXPECT_EQ(catalogue.instance("inf2.xlarge").link, "");
  EXPECT_EQ(&catalogue.chip("A100-SXM4-80GB"), &catalogue.chip("A100 80GB"));
  EXPECT_DOUBLE_EQ(catalogue.chip("A10G").peak(NumberFormat::kBf16), 70e12);
  EXPECT_FALSE(catalogue.chip("Inferentia").no_training.empty());
  for (const Instance* instance : catalogue.match("")) {
    EXPECT_FALSE(instance->source.text.empty()) << instance->name;
    EXPECT_FALSE(instance->chip.source.date.empty()) << instance->name;
  }
}

TEST(Catalogue, CpuInstancesTrainOnTheirProcessor) {
  const Catalogue catalogue = Catalogue::load(data_dir());
  const Instance& c7i = catalogue.instance("c7i.2xlarge");
  EXPECT_EQ(c7i.chip.kind, ChipKind::kCpu);
  EXPECT_EQ(c7i.workers(), 1);
  EXPECT_DOUBLE_EQ(c7i.chip.peak(NumberFormat::kFp32), 64 * 2.6e9 * 4);
  EXPECT_DOUBLE_EQ(c7i.chip.memory_bandwidth, 307.2e9 * 4 / 48);
}

TEST(Catalogue, GlobsSelectInCatalogueOrder) {
  Catalogue catalogue = Catalogue::load(data_dir());
  std::vector<std::string> names;
  for (const Instance* instance : catalogue.match("trn1.*, inf2.x*"))
    names.push_back(instance->name);
  EXPECT_THAT(names, ElementsAre("inf2.xlarge", "trn1.2xlarge", "trn1.32xlarge"));
  EXPECT_THAT([&] { catalogue.match("trn1.*,trm2.48xlarge"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("did you mean 'trn2.48xlarge'")));
  EXPECT_THAT([&] { catalogue.match("dgx-*"); }, ::testing::Throws<Error>());  // not rentable
}

TEST_F(CatalogueFiles, MisspeltKeyIsNamedWithItsLineAndTheNearest) {
  replace("chips.toml", "memory_gbps = 880", "memory_gbs = 880");
  EXPECT_THAT(load_error(), AllOf(HasSubstr("[chips.toml:"), HasSubstr("'memory_gbs'"),
                                  HasSubstr("did you mean 'memory_gbps'")));
}

TEST_F(CatalogueFiles, UnknownReferencesAreNamed) {
  replace("instances.toml", "chip = \"Trainium\"", "chip = \"Trainum\"");
  EXPECT_THAT(load_error(), HasSubstr("did you mean 'Trainium'"));
}

TEST_F(CatalogueFiles, WrongTypesRangesAndDuplicatesAreErrors) {
  replace("chips.toml", "memory_gib = 8", "memory_gib = -8");
  EXPECT_THAT(load_error(), HasSubstr("'memory_gib' must be a number of at least 0"));
  replace("chips.toml", "memory_gib = -8", "memory_gib = \"8\"");
  EXPECT_THAT(load_error(), HasSubstr("'memory_gib' must be a number"));
  replace("chips.toml", "memory_gib = \"8\"", "memory_gib = 8");
  replace("links.toml", "shape = \"torus\"", "shape = \"tores\"");
  EXPECT_THAT(load_error(), HasSubstr("did you mean 'torus'"));
  replace("links.toml", "shape = \"tores\"", "shape = \"torus\"");
  replace("chips.toml", "name = \"Trainium2\"", "name = \"Trainium\"");
  EXPECT_THAT(load_error(), HasSubstr("'Trainium' appears twice"));
  replace("chips.toml", "[[chip]]", "[[chip]");
  EXPECT_THAT(load_error(), HasSubstr("not valid TOML"));
}

TEST_F(CatalogueFiles, FaultyPricesAreErrors) {
  replace("prices.toml", "\"g5.xlarge\" = 1.006", "\"g5.xlarge\" = \"1.006\"");
  EXPECT_THAT(load_error(), AllOf(HasSubstr("[prices.toml:"), HasSubstr("g5.xlarge")));
}

TEST(Prices, EveryPriceBelongsToAnInstance) {
  const Catalogue catalogue = Catalogue::load(data_dir());
  const PriceBook book = PriceBook::load(data_dir());
  for (const Price& price : book.all()) EXPECT_NO_THROW(catalogue.instance(price.instance));
}

TEST(Prices, TheNewestWithinTheChosenTimeIsFound) {
  const PriceBook book = PriceBook::load(data_dir());
  EXPECT_DOUBLE_EQ(book.find("p5.48xlarge", {})->usd_per_hour, 55.04);
  EXPECT_DOUBLE_EQ(book.find("p5.48xlarge", price_choice_from_text("2023"))->usd_per_hour, 98.32);
  EXPECT_EQ(book.find("p5.48xlarge", price_choice_from_text("2023-08")), nullptr);
  EXPECT_DOUBLE_EQ(book.find("trn1.2xlarge", price_choice_from_text("2023-08"))->usd_per_hour,
                   1.34375);
  EXPECT_DOUBLE_EQ(book.find("trn1.2xlarge", price_choice_from_text("reserved"))->usd_per_hour,
                   0.512);
  EXPECT_EQ(book.find("trn1.2xlarge", price_choice_from_text("spot")), nullptr);
  EXPECT_EQ(book.find("p6-b300.48xlarge", {}), nullptr);
  EXPECT_EQ(book.find("p6-b200.48xlarge", {})->region, "us-east-2");  // no us-east-1 price known
  EXPECT_THROW(price_choice_from_text("spott"), Error);
  for (const char* text : {"foo", "20foo", "2023-8", "2023-08-", "23"})
    EXPECT_THAT([&] { price_choice_from_text(text); },
                ThrowsMessage<Error>(HasSubstr("nor a date such as 2023, 2023-08")))
        << text;
  EXPECT_EQ(price_choice_from_text("1999").date, "1999");
  EXPECT_EQ(book.earliest("p5.48xlarge", PriceKind::kOnDemand)->source.date, "2023-11");
  EXPECT_EQ(book.earliest("p5.48xlarge", PriceKind::kSpot), nullptr);
}

TEST(Prices, PreferredRegionThenNewestThenCheapestZone) {
  PriceBook book;
  Price price{"g5.xlarge", 0.5,          PriceKind::kSpot,
              "us-east-1", "us-east-1a", {"test", "2026-11-02"}};
  book.add(price);
  price.usd_per_hour = 0.4, price.zone = "us-east-1b";
  book.add(price);
  price.usd_per_hour = 0.1, price.source.date = "2026-11-01";
  book.add(price);
  price.usd_per_hour = 0.05, price.region = "eu-west-1", price.source.date = "2026-11-09";
  book.add(price);
  PriceChoice choice{PriceKind::kSpot, "", "us-east-1"};
  EXPECT_DOUBLE_EQ(book.find("g5.xlarge", choice)->usd_per_hour, 0.4);
  choice.date = "2026-11-01";
  EXPECT_DOUBLE_EQ(book.find("g5.xlarge", choice)->usd_per_hour, 0.1);
  choice = {PriceKind::kSpot, "", "eu-west-1"};
  EXPECT_DOUBLE_EQ(book.find("g5.xlarge", choice)->usd_per_hour, 0.05);
}

}  // namespace
}  // namespace centavo::fleet
