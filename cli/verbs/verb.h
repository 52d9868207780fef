#pragma once
// One verb of the command line: its options and what it does. One file each.

#include <memory>

#include "cli/kit/options.h"
#include "cli/kit/session.h"

namespace muster::cli {

class Verb {
 public:
  virtual ~Verb() = default;
  /// Called once, before run(); the options write into the verb.
  virtual void describe(Options& options) = 0;
  /// The exit code of the process. `session` was made from common().
  virtual int run(Session& session) = 0;
  const CommonOptions& common() const { return common_; }

 protected:
  CommonOptions common_;
};

std::unique_ptr<Verb> make_access();
std::unique_ptr<Verb> make_access_set();
std::unique_ptr<Verb> make_admin_reset();
std::unique_ptr<Verb> make_agent();
std::unique_ptr<Verb> make_audit_verify();
std::unique_ptr<Verb> make_cancel();
std::unique_ptr<Verb> make_completion();
std::unique_ptr<Verb> make_edit();
std::unique_ptr<Verb> make_events();
std::unique_ptr<Verb> make_fence();
std::unique_ptr<Verb> make_gpus();
std::unique_ptr<Verb> make_gpu_mask();
std::unique_ptr<Verb> make_gpu_unmask();
std::unique_ptr<Verb> make_help();
std::unique_ptr<Verb> make_help_terms();
std::unique_ptr<Verb> make_hosts();
std::unique_ptr<Verb> make_host_drain();
std::unique_ptr<Verb> make_host_remove();
std::unique_ptr<Verb> make_host_revoke();
std::unique_ptr<Verb> make_host_set();
std::unique_ptr<Verb> make_host_show();
std::unique_ptr<Verb> make_host_undrain();
std::unique_ptr<Verb> make_http_ca();
std::unique_ptr<Verb> make_init();
std::unique_ptr<Verb> make_jobs();
std::unique_ptr<Verb> make_join();
std::unique_ptr<Verb> make_keys();
std::unique_ptr<Verb> make_keys_rotate();
std::unique_ptr<Verb> make_leave();
std::unique_ptr<Verb> make_logs();
std::unique_ptr<Verb> make_manual();
std::unique_ptr<Verb> make_priority();
std::unique_ptr<Verb> make_queue();
std::unique_ptr<Verb> make_queue_export();
std::unique_ptr<Verb> make_queue_import();
std::unique_ptr<Verb> make_queue_remove();
std::unique_ptr<Verb> make_queue_set();
std::unique_ptr<Verb> make_queue_show();
std::unique_ptr<Verb> make_quorum();
std::unique_ptr<Verb> make_quorum_add();
std::unique_ptr<Verb> make_quorum_remove();
std::unique_ptr<Verb> make_quorum_transfer();
std::unique_ptr<Verb> make_quorum_recover();
std::unique_ptr<Verb> make_requeue();
std::unique_ptr<Verb> make_resume();
std::unique_ptr<Verb> make_share();
std::unique_ptr<Verb> make_show();
/// `args` are the verb's own arguments, for the line that repeats the submit.
std::unique_ptr<Verb> make_submit(const std::vector<std::string>& args);
std::unique_ptr<Verb> make_suspend();
std::unique_ptr<Verb> make_team_add();
std::unique_ptr<Verb> make_team_list();
std::unique_ptr<Verb> make_team_remove();
std::unique_ptr<Verb> make_team_set();
std::unique_ptr<Verb> make_ticket();
std::unique_ptr<Verb> make_ticket_list();
std::unique_ptr<Verb> make_ticket_revoke();
std::unique_ptr<Verb> make_token_create();
std::unique_ptr<Verb> make_token_list();
std::unique_ptr<Verb> make_token_revoke();
std::unique_ptr<Verb> make_usage();
std::unique_ptr<Verb> make_user_add();
std::unique_ptr<Verb> make_user_list();
std::unique_ptr<Verb> make_user_remove();
std::unique_ptr<Verb> make_user_set();
std::unique_ptr<Verb> make_users_apply();
std::unique_ptr<Verb> make_stats();
std::unique_ptr<Verb> make_version();
std::unique_ptr<Verb> make_whoami();
std::unique_ptr<Verb> make_why();
std::unique_ptr<Verb> make_why_host();

}  // namespace muster::cli
