// The list of commands: each function adds one command (or a group of them) to the command line. The function, its
// options and its output are in the file of the same name. Used from one thread, before the command line is parsed.
#pragma once

namespace cairn {

struct CommandLine;

// commands/runs
void add_start(CommandLine& line);
void add_starts(CommandLine& line);
void add_fork(CommandLine& line);
void add_batch(CommandLine& line);
void add_runs(CommandLine& line);
void add_report(CommandLine& line);
void add_show(CommandLine& line);
void add_events(CommandLine& line);
void add_explain(CommandLine& line);
void add_plan(CommandLine& line);
void add_wait(CommandLine& line);
void add_answer(CommandLine& line);
void add_signal(CommandLine& line);
void add_questions(CommandLine& line);
void add_control(CommandLine& line);  // pause, resume, retry, reset, cancel, move
void add_diff(CommandLine& line);

// commands/server
void add_up(CommandLine& line);
void add_down(CommandLine& line);
void add_backup(CommandLine& line);
void add_restore(CommandLine& line);
void add_distribute(CommandLine& line);
void add_migrate(CommandLine& line);
void add_work(CommandLine& line);
void add_serve(CommandLine& line);
void add_test_server(CommandLine& line);
void add_mcp(CommandLine& line);
void add_token(CommandLine& line);
void add_feed(CommandLine& line);
void add_queue(CommandLine& line);
void add_workers(CommandLine& line);
void add_doctor(CommandLine& line);
void add_logs(CommandLine& line);
void add_psql(CommandLine& line);

// commands/schedules
void add_schedule(CommandLine& line);

// commands/hooks
void add_hook(CommandLine& line);

// commands/graphs
void add_graph(CommandLine& line);
void add_dataset(CommandLine& line);
void add_planners(CommandLine& line);
void add_corpus(CommandLine& line);
void add_simulate(CommandLine& line);

// commands/guide
void add_skill(CommandLine& line);
void add_version(CommandLine& line);
void add_completion(CommandLine& line);
void add_manual(CommandLine& line);

// commands/audit
void add_verify(CommandLine& line);
void add_rebuild(CommandLine& line);
void add_export(CommandLine& line);
void add_import(CommandLine& line);
void add_archive(CommandLine& line);
void add_erase(CommandLine& line);
void add_replay(CommandLine& line);
void add_blame(CommandLine& line);

}  // namespace cairn
