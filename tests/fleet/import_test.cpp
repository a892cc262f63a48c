// Importing what users fetch themselves, keeping it, and finding the instance this program runs on.
#include "centavo/fleet/import.h"

#include <arpa/inet.h>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "../temp_dir.h"

#include "centavo/base/error.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/fleet/imds.h"
#include "centavo/io/file.h"

namespace centavo::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Import : public ::testing::Test {
 protected:
  Imported read(const std::string& text, const std::string& name) {
    io::atomic_write_file(dir_ / name, text);
    return read_import(dir_ / name, "2026-11-30");
  }
  std::string error(const std::string& text, const std::string& name) {
    try {
      read(text, name);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
  TempDir dir_;
};

const char* const kTypes = R"({"InstanceTypes": [
  {"InstanceType": "g5.xlarge", "VCpuInfo": {"DefaultVCpus": 4, "DefaultCores": 2},
   "MemoryInfo": {"SizeInMiB": 16384},
   "GpuInfo": {"Gpus": [{"Name": "A10G", "Manufacturer": "NVIDIA", "Count": 1, "MemoryInfo": {"SizeInMiB": 22888}}]},
   "NetworkInfo": {"EfaSupported": false, "NetworkCards": [{"BaselineBandwidthInGbps": 2.5}]}},
  {"InstanceType": "p9.96xlarge", "VCpuInfo": {"DefaultVCpus": 384, "DefaultCores": 192},
   "MemoryInfo": {"SizeInMiB": 4194304},
   "GpuInfo": {"Gpus": [{"Name": "H200", "Manufacturer": "NVIDIA", "Count": 8, "MemoryInfo": {"SizeInMiB": 144384}}]},
   "NetworkInfo": {"EfaSupported": true, "NetworkCards": [{"BaselineBandwidthInGbps": 1600}, {"BaselineBandwidthInGbps": 1600}]}},
  {"InstanceType": "trn9.8xlarge", "VCpuInfo": {"DefaultVCpus": 32, "DefaultCores": 16}, "MemoryInfo": {"SizeInMiB": 262144},
   "NeuronInfo": {"NeuronDevices": [{"Name": "Trainium9", "Count": 2, "MemoryInfo": {"SizeInMiB": 147456}}]}}]})";

TEST_F(Import, InstanceTypesAreReadAndUnknownOnesKeptAndNamed) {
  const Imported imported = read(kTypes, "types.json");
  ASSERT_EQ(imported.types.size(), 3u);
  EXPECT_EQ(imported.types[1].chip, "H200");
  EXPECT_EQ(imported.types[1].chips, 8);
  EXPECT_DOUBLE_EQ(imported.types[1].network_gbps, 3200);
  const ImportSummary summary = keep_import(imported, Catalogue::load(data_dir()), dir_ / "kept");
  EXPECT_THAT(summary.unknown, ElementsAre("p9.96xlarge", "trn9.8xlarge"));
  // A later run's catalogue has them beside the shipped ones: with a known chip they can be
  // predicted.
  setenv("XDG_DATA_HOME", (dir_ / "home").c_str(), 1);
  keep_import(imported, Catalogue::load(data_dir()), user_dir());
  const Catalogue catalogue = Catalogue::load();
  unsetenv("XDG_DATA_HOME");
  const Instance& p9 = catalogue.instance("p9.96xlarge");
  EXPECT_EQ(p9.chip.name, "H200");
  EXPECT_TRUE(p9.efa);
  EXPECT_DOUBLE_EQ(p9.network, 400e9);
  EXPECT_TRUE(p9.chip.predictable());
  EXPECT_FALSE(catalogue.instance("trn9.8xlarge").chip.predictable());
  EXPECT_EQ(catalogue.instance("trn9.8xlarge").chip.name, "Trainium9");
  EXPECT_EQ(catalogue.instance("g5.xlarge").cpu.name, "EPYC 7R32");  // the shipped entry stays
}

TEST_F(Import, SpotHistoryKeepsTheNewestOfEachZone) {
  const Imported imported = read(R"({"SpotPriceHistory": [
    {"InstanceType": "g5.xlarge", "AvailabilityZone": "us-east-1a", "ProductDescription": "Linux/UNIX",
     "SpotPrice": "0.4100", "Timestamp": "2026-11-29T08:00:00+00:00"},
    {"InstanceType": "g5.xlarge", "AvailabilityZone": "us-east-1a", "ProductDescription": "Linux/UNIX",
     "SpotPrice": "0.4300", "Timestamp": "2026-11-30T08:00:00+00:00"},
    {"InstanceType": "g5.xlarge", "AvailabilityZone": "us-east-1b", "ProductDescription": "Linux/UNIX",
     "SpotPrice": "0.3900", "Timestamp": "2026-11-30T07:00:00+00:00"},
    {"InstanceType": "g5.xlarge", "AvailabilityZone": "us-east-1b", "ProductDescription": "Windows",
     "SpotPrice": "0.1", "Timestamp": "2026-11-30T09:00:00+00:00"}]})",
                                 "spot.json");
  EXPECT_EQ(imported.prices.size(), 2u);
  EXPECT_EQ(imported.left_out, 1);
  keep_import(imported, Catalogue::load(data_dir()), dir_.path());
  const PriceBook book = PriceBook::load(dir_.path());
  const Price* price = book.find("g5.xlarge", price_choice_from_text("spot"));
  ASSERT_NE(price, nullptr);
  EXPECT_DOUBLE_EQ(price->usd_per_hour, 0.39);
  EXPECT_EQ(price->zone, "us-east-1b");
  EXPECT_EQ(price->source.date, "2026-11-30");
}

const char* const kOfferCsv =
    "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"For information only\"\n"
    "\"Publication "
    "Date\",\"2026-11-24T21:10:11Z\"\n\"Version\",\"20261124211011\"\n\"OfferCode\",\"AmazonEC2\"\n"
    "\"SKU\",\"TermType\",\"PriceDescription\",\"Unit\",\"PricePerUnit\",\"Currency\",\"Instance "
    "Type\",\"Tenancy\","
    "\"Operating System\",\"Pre Installed S/W\",\"CapacityStatus\",\"Region Code\"\n"
    "\"A\",\"OnDemand\",\"$1.1, \"\"per "
    "hour\"\"\",\"Hrs\",\"1.1000000000\",\"USD\",\"g5.xlarge\",\"Shared\",\"Linux\",\"NA\","
    "\"Used\",\"us-east-1\"\n"
    "\"B\",\"OnDemand\",\"$1.3\",\"Hrs\",\"1.3\",\"USD\",\"g5.xlarge\",\"Shared\",\"Windows\","
    "\"NA\",\"Used\",\"us-east-1\"\n"
    "\"C\",\"OnDemand\",\"$9\",\"Hrs\",\"9\",\"USD\",\"g5.xlarge\",\"Dedicated\",\"Linux\",\"NA\","
    "\"Used\",\"us-east-1\"\n"
    "\"D\",\"Reserved\",\"$0.6\",\"Hrs\",\"0.6\",\"USD\",\"g5.xlarge\",\"Shared\",\"Linux\",\"NA\","
    "\"Used\",\"us-east-1\"\n"
    "\"E\",\"OnDemand\",\"$7\",\"Hrs\",\"7.25\",\"USD\",\"x99.large\",\"Shared\",\"Linux\",\"NA\","
    "\"Used\",\"eu-west-1\"\n"
    "\"F\",\"OnDemand\",\"$0\",\"Hrs\",\"0\",\"USD\",\"g5.xlarge\",\"Shared\",\"Linux\",\"NA\","
    "\"Used\",\"us-east-1\"\n";

TEST_F(Import, OfferFileCsv) {
  const Imported imported = read(kOfferCsv, "index.csv");
  ASSERT_EQ(imported.prices.size(), 2u);
  EXPECT_EQ(imported.left_out, 4);
  EXPECT_DOUBLE_EQ(imported.prices[0].usd_per_hour, 1.1);
  EXPECT_EQ(imported.prices[0].source.date, "2026-11-24");
  EXPECT_THAT(imported.prices[0].source.text, HasSubstr("20261124211011"));
  const ImportSummary summary = keep_import(imported, Catalogue::load(data_dir()), dir_.path());
  EXPECT_THAT(summary.unknown, ElementsAre("x99.large"));
  EXPECT_DOUBLE_EQ(PriceBook::load(dir_.path()).find("x99.large", {})->usd_per_hour, 7.25);
}

TEST_F(Import, OfferFileJsonAndGetProducts) {
  const std::string product =
      R"("attributes": {"instanceType": "trn1.2xlarge", "regionCode": "us-east-1",
    "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"})";
  const std::string term =
      R"({"X.Y": {"priceDimensions": {"X.Y.Z": {"unit": "Hrs", "pricePerUnit": {"USD": "1.34375"}}}}})";
  Imported imported =
      read(R"({"formatVersion": "v1.0", "version": "7", "publicationDate": "2026-11-24T00:00:00Z",
    "products": {"X": {"sku": "X", )" +
               product + R"(}, "S": {"sku": "S", "attributes": {"usagetype": "EBS"}}},
    "terms": {"OnDemand": {"X": )" +
               term + "}}}",
           "index.json");
  ASSERT_EQ(imported.prices.size(), 1u);
  EXPECT_DOUBLE_EQ(imported.prices[0].usd_per_hour, 1.34375);
  // The command line wraps each product's JSON in a text.
  std::string entry = R"({"product": {)" + product + R"(}, "terms": {"OnDemand": )" + term +
                      R"(}, "version": "7", "publicationDate": "2026-11-24T00:00:00Z"})";
  std::string escaped;
  for (char c : entry) escaped += c == '"' ? "\\\"" : c == '\n' ? " " : std::string(1, c);
  imported = read("{\"FormatVersion\": \"aws_v1\", \"PriceList\": [\"" + escaped + "\"]}",
                  "products.json");
  ASSERT_EQ(imported.prices.size(), 1u);
  EXPECT_EQ(imported.prices[0].instance, "trn1.2xlarge");
  EXPECT_EQ(imported.prices[0].region, "us-east-1");
}

TEST_F(Import, SkyPilotTable) {
  const Imported imported = read(
      "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"
      "Region,AvailabilityZone,Arch\n"
      "g5.xlarge,A10G,1,4,16,\"{'Gpus': [{'Name': 'A10G', 'Count': "
      "1}]}\",1.006,0.41,us-east-1,us-east-1a,x86_64\n"
      "g5.xlarge,A10G,1,4,16,\"{'Gpus': [{'Name': 'A10G', 'Count': "
      "1}]}\",1.006,,us-east-1,us-east-1b,x86_64\n"
      "c6a.large,,,2,4,,,,us-east-1,us-east-1a,x86_64\n",
      "vms.csv");
  ASSERT_EQ(imported.prices.size(), 2u);  // one on-demand price a region, one spot price
  EXPECT_EQ(imported.prices[0].kind, PriceKind::kSpot);
  EXPECT_EQ(imported.prices[1].kind, PriceKind::kOnDemand);
  EXPECT_EQ(imported.prices[1].source.date, "2026-11-30");
  EXPECT_EQ(imported.left_out, 1);
}

TEST_F(Import, ForeignAndCorruptFilesAreNamed) {
  EXPECT_THAT(error("hello", "a.txt"), HasSubstr("not a file that Centavo can import"));
  EXPECT_THAT(error("", "empty.csv"), HasSubstr("not a file that Centavo can import"));
  EXPECT_THAT(error("{\"a\": 1}", "a.json"), HasSubstr("none that Centavo imports"));
  EXPECT_THAT(error(std::string(kTypes).substr(0, 400), "cut.json"),
              HasSubstr("[cut.json] bad JSON"));
  EXPECT_THAT(error(R"({"InstanceTypes": [{"InstanceType": "a.b"}]})", "a.json"),
              AllOf(HasSubstr("InstanceTypes[0]"), HasSubstr("'DefaultVCpus' is missing")));
  EXPECT_THAT(error(R"({"InstanceTypes": [{"InstanceType": "a.b", "VCpuInfo": {"DefaultVCpus": -4},
                        "MemoryInfo": {"SizeInMiB": 1024}}]})",
                    "a.json"),
              HasSubstr("impossible figures"));
  EXPECT_THAT(
      error(
          R"({"SpotPriceHistory": [{"InstanceType": "a.b", "AvailabilityZone": "x-1a", "SpotPrice": "cheap",
                        "Timestamp": "2026-11-30T00:00:00Z"}]})",
          "a.json"),
      HasSubstr("'cheap' is not a price"));
  EXPECT_THAT(
      error(
          R"({"SpotPriceHistory": [{"InstanceType": "a.b", "AvailabilityZone": "x-1a", "SpotPrice": "1",
                        "Timestamp": "yesterday"}]})",
          "a.json"),
      HasSubstr("does not start with a date"));
  EXPECT_THAT(error(R"({"SpotPriceHistory": 3})", "a.json"), HasSubstr("is not a list"));
  std::string broken = kOfferCsv;
  broken.replace(broken.find("7.25"), 4, "7,25");
  EXPECT_THAT(error(broken, "index.csv"), HasSubstr("index.csv"));
  broken = kOfferCsv;
  broken.replace(broken.find("7.25"), 4, "much");
  EXPECT_THAT(error(broken, "index.csv"), HasSubstr("index.csv:11"));
  EXPECT_THAT(error(std::string(kOfferCsv).substr(0, 120), "index.csv"),
              HasSubstr("without its table"));
  EXPECT_THAT(error("InstanceType,vCPUs\ng5.xlarge,4\n", "vms.csv"),
              HasSubstr("no column 'Price'"));
}

// A metadata service on 127.0.0.1: answers from a table of "METHOD path" and records what it was
// asked.
class MetadataServer {
 public:
  MetadataServer(const MetadataServer&) = delete;
  explicit MetadataServer(std::map<std::string, std::string> answers, bool silent = false)
      : answers_(std::move(answers)), silent_(silent), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(socket_, 8) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no local server");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT",
           fmt::format("http://127.0.0.1:{}/", ntohs(address.sin_port)).c_str(), 1);
    thread_ = std::thread([this] { serve(); });
  }
  ~MetadataServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
    unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  }

 private:
  void serve() {
    for (int client; (client = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(client)) {
      std::string request;
      char buffer[1024];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = ::recv(client, buffer, sizeof buffer, 0);
        if (n <= 0) break;
        request.append(buffer, static_cast<size_t>(n));
      }
      if (silent_) {
        while (::recv(client, buffer, sizeof buffer, 0) > 0) {
        }
        continue;
      }
      const size_t path = request.find(' ') + 1;
      auto found = answers_.find(request.substr(0, request.find(' ', path)));
      // Version 2: nothing but the token without the token.
      const bool allowed = request.starts_with("PUT ") ||
                           request.find("X-aws-ec2-metadata-token: secret\r\n") != request.npos;
      const std::string body = found != answers_.end() && allowed ? found->second : "";
      const std::string answer =
          fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                      body.empty() ? "401 Unauthorized" : "200 OK", body.size(), body);
      (void)!::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  std::map<std::string, std::string> answers_;
  bool silent_;
  int socket_;
  std::thread thread_;
};

const std::map<std::string, std::string> kService = {
    {"PUT /latest/api/token", "secret"},
    {"GET /latest/meta-data/instance-type", "trn1.2xlarge"},
    {"GET /latest/meta-data/placement/region", "us-east-1"}};

TEST(OwnInstance, IsFoundWithASessionToken) {
  MetadataServer server(kService);
  const auto own = own_instance(std::chrono::milliseconds(2000));
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->type, "trn1.2xlarge");
  EXPECT_EQ(own->region, "us-east-1");
}

TEST(OwnInstance, AbsentRefusingSilentAndForeignServicesGiveNothing) {
  {
    std::map<std::string, std::string> tokenless = kService;
    tokenless.erase("PUT /latest/api/token");
    MetadataServer refusing(tokenless);
    EXPECT_FALSE(own_instance(std::chrono::milliseconds(2000)).has_value());
  }
  {
    std::map<std::string, std::string> foreign = kService;
    foreign["GET /latest/meta-data/instance-type"] = "<html>hello</html>";
    MetadataServer server(foreign);
    EXPECT_FALSE(own_instance(std::chrono::milliseconds(2000)).has_value());
  }
  {
    MetadataServer silent(kService, true);
    EXPECT_FALSE(own_instance(std::chrono::milliseconds(100)).has_value());
  }
  {
    MetadataServer server(kService);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    EXPECT_FALSE(own_instance(std::chrono::milliseconds(2000)).has_value());
    unsetenv("AWS_EC2_METADATA_DISABLED");
  }
  setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", 1);  // nothing listens
  EXPECT_FALSE(own_instance(std::chrono::milliseconds(200)).has_value());
  unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
}

}  // namespace
}  // namespace centavo::fleet
