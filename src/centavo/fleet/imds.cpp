// IMDSv2 over libcurl.
#include "centavo/fleet/imds.h"

#include <cstdlib>
#include <curl/curl.h>
#include <memory>

#include "centavo/base/text.h"

namespace centavo::fleet {
namespace {

constexpr size_t kMaxAnswer = 4096;

size_t append(char* data, size_t size, size_t count, void* target) {
  auto& answer = *static_cast<std::string*>(target);
  if (answer.size() + size * count > kMaxAnswer) return 0;  // ends the transfer
  answer.append(data, size * count);
  return size * count;
}

class Session {
 public:
  Session(std::string endpoint, std::chrono::milliseconds timeout)
      : endpoint_(std::move(endpoint)),
        timeout_(timeout),
        curl_(curl_easy_init(), curl_easy_cleanup) {}

  // The body of a 200 answer.
  std::optional<std::string> request(const char* method, const std::string& path,
                                     const std::string& header) {
    if (!curl_) return std::nullopt;
    CURL* curl = curl_.get();
    curl_easy_reset(curl);
    std::string answer;
    const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
        curl_slist_append(nullptr, header.c_str()), curl_slist_free_all);
    const std::string url = endpoint_ + path;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_.count()));
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    long status = 0;
    if (curl_easy_perform(curl) != CURLE_OK) return std::nullopt;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status == 200 ? std::optional(std::string(trim(answer))) : std::nullopt;
  }

 private:
  std::string endpoint_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
};

std::string environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

}  // namespace

std::optional<OwnInstance> own_instance(std::chrono::milliseconds timeout) {
  if (environment("AWS_EC2_METADATA_DISABLED", "") == "true") return std::nullopt;
  std::string endpoint = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  Session session(endpoint, timeout);
  const auto token =
      session.request("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60");
  if (!token) return std::nullopt;
  const std::string proof = "X-aws-ec2-metadata-token: " + *token;
  const auto type = session.request("GET", "/latest/meta-data/instance-type", proof);
  // An instance type is a family and a size; anything else is some other service that answers.
  if (!type || type->find('.') == std::string::npos ||
      type->find_first_of(" <\n") != std::string::npos)
    return std::nullopt;
  return OwnInstance{
      *type, session.request("GET", "/latest/meta-data/placement/region", proof).value_or("")};
}

}  // namespace centavo::fleet
