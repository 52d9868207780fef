#include "cli/verbs/slurm_hints.h"

#include <array>

namespace muster::cli {
namespace {

constexpr std::string_view kTime = "write --time-limit 2h";
constexpr std::string_view kNodes = "hosts and GPUs on each are one word: --gpus 4x8";
constexpr std::string_view kTasks =
    "there is one rank a GPU (--gpus 16); without GPUs write --gpus 0 --ranks 16";
constexpr std::string_view kOfHosts = "write --gpus HOSTSxN, as --gpus 1x8, and --gpu-type H100";
constexpr std::string_view kPartition =
    "write --queue PATH, as `muster queue` lists them; --gpu-type, --label and --host choose hosts";
constexpr std::string_view kQos =
    "write --tier TIER: interactive, batch, standard, premium or inference";
constexpr std::string_view kQueueColumn = "write --columns id,name,queue,state --sort queue";
constexpr std::string_view kOutput = "output is stored by Muster: muster logs JOB, --stderr";
constexpr std::string_view kDependency =
    "write --after ok:7 for afterok:7, fail:7 for afternotok:7, any:7 for afterany:7";
constexpr std::string_view kAccount =
    "there are no accounts yet: `muster usage` counts by user, type and name";
constexpr std::string_view kMail =
    "mail is not supported yet: use muster submit --wait, or events -f, in a script";
constexpr std::string_view kName = "write --name NAME";
constexpr std::string_view kCpus = "write --cpus N, of each rank, or --cpus N/gpu";
constexpr std::string_view kArray = "write --array 0-99%10";
constexpr std::string_view kHosts = "write --host NAME,NAME";
constexpr std::string_view kNotHosts = "write --not-host NAME,NAME";
constexpr std::string_view kLabel = "write --label KEY=VALUE";
constexpr std::string_view kPriority = "write --priority N: higher goes first";
constexpr std::string_view kDirectory = "write --cwd DIR";
constexpr std::string_view kGpus = "write --gpus N";
constexpr std::string_view kLater = "not supported yet";

constexpr std::array<OptionHint, 55> kSubmit = {{
    {"--time", kTime},
    {"-t", kTime},
    {"--nodes", kNodes},
    {"-N", kNodes},
    {"--ntasks", kTasks},
    {"-n", kTasks},
    {"--ntasks-per-node", "write --ranks-per-host N, with --gpus HOSTSxN"},
    {"--tasks-per-node", "write --ranks-per-host N, with --gpus HOSTSxN"},
    {"--ntasks-per-gpu", kTasks},
    {"--gres", kOfHosts},
    {"--gpus-per-node", kOfHosts},
    {"--gpus-per-task",
     "each rank has one GPU; --gpus 2x8 --ranks-per-host 1 gives it all of its host's"},
    {"-G", kGpus},
    {"--partition", kPartition},
    {"-p", kPartition},
    {"--qos", kQos},
    {"-q", kQos},
    {"--nice", kPriority},
    {"--dependency", kDependency},
    {"-d", kDependency},
    {"--output", kOutput},
    {"-o", kOutput},
    {"--error", kOutput},
    {"--input", "ranks read end of file; let the command open what it reads"},
    {"-i", "ranks read end of file; let the command open what it reads"},
    {"--job-name", kName},
    {"-J", kName},
    {"--account", kAccount},
    {"-A", kAccount},
    {"--mem-per-gpu", "write --mem 64G/gpu"},
    {"--mem-per-cpu", "write --mem 64G: memory goes by rank or GPU"},
    {"--cpus-per-task", kCpus},
    {"-c", kCpus},
    {"--cpus-per-gpu", "write --cpus N/gpu"},
    {"-a", kArray},
    {"--chdir", kDirectory},
    {"-D", kDirectory},
    {"--nodelist", kHosts},
    {"-w", kHosts},
    {"--exclude", kNotHosts},
    {"-x", kNotHosts},
    {"--constraint", kLabel},
    {"-C", kLabel},
    {"--exclusive", "ask for all GPUs of a host: --gpus 1x8"},
    {"--export", "write -e NAME, -e NAME=VALUE, --env-all or --env-none"},
    {"--requeue", "a job that lost its host runs again by itself; --retries N is for failures"},
    {"--no-requeue",
     "write --on-lost-host wait: then nothing runs again before its host is proven dead"},
    {"--test-only", "write --dry-run"},
    {"--wrap", "write the command behind --: -- sh -c '...'"},
    {"-W", "write --wait"},
    {"--mail-type", kMail},
    {"--mail-user", kMail},
    {"--reservation", kLater},
    {"--licenses", kLater},
    {"--signal", "only TERM is sent, --grace before KILL"},
}};

constexpr std::array<OptionHint, 11> kJobs = {{
    {"--me", "write --user NAME; by default your jobs and the running jobs of others are listed"},
    {"--jobs", "give only the numbers: muster jobs 7 9-12"},
    {"-j", "give only the numbers: muster jobs 7 9-12"},
    {"--states", "write --state running,queued"},
    {"-T", "write --state running,queued"},
    {"--start", "muster why JOB says what it waits for"},
    {"--format", "write --columns id,name,state"},
    {"--iterate", "write --watch"},
    {"-i", "write --watch"},
    {"--partition", kQueueColumn},
    {"--noheader", "write --no-header"},
}};

}  // namespace

std::span<const OptionHint> submit_hints() {
  return kSubmit;
}

std::span<const OptionHint> jobs_hints() {
  return kJobs;
}

}  // namespace muster::cli
