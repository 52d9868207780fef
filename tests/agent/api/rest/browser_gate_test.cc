// Goal: a page of another site changes nothing here, and no request passes whose length two readers
// could read differently. Method: a table of requests and the status that each gets.

#include "agent/api/rest/browser_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace muster::agent {
namespace {

struct GateRow {
  std::string what;
  HttpMethod method;
  HttpFields fields;
  int status;  ///< 0 = it passes.
};

const std::vector<GateRow>& gate_rows() {
  static const std::vector<GateRow> kRows = {
      {"a read by name", HttpMethod::kGet, {{"host", "node1:8443"}}, 0},
      {"a name in capitals", HttpMethod::kGet, {{"host", "NODE1"}}, 0},
      {"a name that the rules have in capitals",
       HttpMethod::kGet,
       {{"host", "node1.example.org:8443"}},
       0},
      {"the same name in other capitals", HttpMethod::kGet, {{"host", "nODE1.EXAMPLE.Org"}}, 0},
      {"a part of that name", HttpMethod::kGet, {{"host", "node1.example"}}, 421},
      {"a write of the own page, whose name has capitals",
       HttpMethod::kPut,
       {{"host", "Node1.Example.org:8443"},
        {"muster-client", "page"},
        {"origin", "https://node1.example.org:8443"}},
       0},
      {"an IPv6 address", HttpMethod::kGet, {{"host", "[::1]:8443"}}, 0},
      {"a name that leads here", HttpMethod::kGet, {{"host", "evil.example"}}, 421},
      {"a longer name", HttpMethod::kGet, {{"host", "node1.evil.example"}}, 421},
      {"no host", HttpMethod::kGet, {}, 400},
      {"a port without digits", HttpMethod::kGet, {{"host", "node1:x"}}, 400},
      {"two hosts", HttpMethod::kGet, {{"host", "node1"}, {"host", "node1"}}, 400},
      {"a read from another page",
       HttpMethod::kHead,
       {{"host", "node1"}, {"origin", "https://evil.example"}},
       0},
      {"a write of a program",
       HttpMethod::kPost,
       {{"host", "node1"}, {"muster-client", "curl"}},
       0},
      {"a write without the header", HttpMethod::kPost, {{"host", "node1"}}, 403},
      {"a delete without the header", HttpMethod::kDelete, {{"host", "node1"}}, 403},
      {"an unknown method without it", HttpMethod::kOther, {{"host", "node1"}}, 403},
      {"a write of the own page",
       HttpMethod::kPut,
       {{"host", "node1:8443"}, {"muster-client", "page"}, {"origin", "https://node1:8443"}},
       0},
      {"a write of another page",
       HttpMethod::kPut,
       {{"host", "node1:8443"}, {"muster-client", "page"}, {"origin", "https://evil.example"}},
       403},
      {"a write of a page without TLS",
       HttpMethod::kPatch,
       {{"host", "node1:8443"}, {"muster-client", "page"}, {"origin", "http://node1:8443"}},
       403},
      {"a write of another port",
       HttpMethod::kPost,
       {{"host", "node1:8443"}, {"muster-client", "page"}, {"origin", "https://node1:9"}},
       403},
      {"a write of a page in a box",
       HttpMethod::kPost,
       {{"host", "node1"}, {"muster-client", "page"}, {"origin", "null"}},
       403},
      {"two lengths",
       HttpMethod::kGet,
       {{"host", "node1"}, {"content-length", "1"}, {"content-length", "1"}},
       400},
      {"a length beside chunks",
       HttpMethod::kGet,
       {{"host", "node1"}, {"content-length", "1"}, {"transfer-encoding", "chunked"}},
       400},
      {"chunks", HttpMethod::kGet, {{"host", "node1"}, {"transfer-encoding", "Chunked"}}, 0},
      {"another coding", HttpMethod::kGet, {{"host", "node1"}, {"transfer-encoding", "gzip"}}, 400},
      {"two proofs",
       HttpMethod::kGet,
       {{"host", "node1"}, {"authorization", "Bearer a"}, {"authorization", "Bearer b"}},
       400},
  };
  return kRows;
}

TEST(BrowserGate, PassesOrRefusesAsTheTableSays) {
  const BrowserRules rules{{"node1", "Node1.Example.org", "::1"}};
  for (const GateRow& row : gate_rows()) {
    const auto refusal = browser_refusal({row.method, "/v1/jobs", {}, row.fields, ""}, rules);
    EXPECT_EQ(refusal.has_value() ? refusal->status : 0, row.status) << row.what;
  }
}

TEST(BrowserGate, AnyHostPassesOverAUnixSocketButOtherRulesHold) {
  BrowserRules rules;
  rules.may_be_any_name = true;
  EXPECT_FALSE(browser_refusal({HttpMethod::kGet, "/", {}, {}, ""}, rules).has_value());
  EXPECT_TRUE(browser_refusal({HttpMethod::kPost, "/", {}, {}, ""}, rules).has_value());
}

TEST(BrowserGate, WithoutNamesNothingPasses) {
  EXPECT_TRUE(
      browser_refusal({HttpMethod::kGet, "/", {}, {{"host", "node1"}}, ""}, {}).has_value());
}

TEST(BrowserGate, ReadsTheNameOfAHost) {
  EXPECT_EQ(host_name_of("Node1:8443"), "node1");
  EXPECT_EQ(host_name_of("[FE80::1]"), "fe80::1");
  EXPECT_EQ(host_name_of("10.0.0.1"), "10.0.0.1");
  for (const char* wrong : {"", ":1", "[::1", "[]:1", "a:b:1", "a:", "a:123456", "[::1]x"}) {
    EXPECT_EQ(host_name_of(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace muster::agent
