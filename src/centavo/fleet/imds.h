// The instance that this program runs on, from EC2's instance metadata service.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace centavo::fleet {

struct OwnInstance {
  std::string type;    // trn1.2xlarge
  std::string region;  // us-east-1; may be empty
};

// Asks the metadata service, version 2: a session token by PUT, then the type and the region with
// it. Nothing when there is no such service (not on EC2), when it does not answer within `timeout`,
// or when AWS_EC2_METADATA_DISABLED is "true". The endpoint is http://169.254.169.254 unless
// AWS_EC2_METADATA_SERVICE_ENDPOINT names another. Never throws for what the network does; proxies
// are not used.
std::optional<OwnInstance> own_instance(
    std::chrono::milliseconds timeout = std::chrono::milliseconds(300));

}  // namespace centavo::fleet
