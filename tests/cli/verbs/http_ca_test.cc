// The root certificate of HTTPS, as a file to trust and as JSON.

#include <gtest/gtest.h>

#include "agent/api/certify.h"
#include "agent/api/payload.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

const agent::HttpRootInfo kRoot{"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
                                "0a1b"};

TEST(HttpCa, IsPrintedAsAFile) {
  FakeWorld world;
  world.answers(answer_with(kRoot));
  EXPECT_EQ(world.output_of({"http", "ca"}), kRoot.root);
  EXPECT_EQ(world.requests()[0].verb, agent::Verb::kHttpRoot);
}

TEST(HttpCa, Json) {
  FakeWorld world;
  world.answers(answer_with(kRoot));
  EXPECT_EQ(world.output_of({"http", "ca", "--json"}),
            R"({"root":"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",)"
            R"("fingerprint":"0a1b","answered_by":"a","age_ms":0})"
            "\n");
}

}  // namespace
}  // namespace muster::cli
