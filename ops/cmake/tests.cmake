# One program per folder of tests/, labelled `fast` (needs nothing) or `postgres` (starts its own cluster), linked to no
# more than it tests.
find_package(GTest REQUIRED)
set_source_files_properties(tests/paths.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON
                            COMPILE_DEFINITIONS
                            "CAIRN_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\";CAIRN_PROGRAMS=\"${CMAKE_BINARY_DIR}\"")

# The precompiled headers of all test programs, which else would wait for one of them.
file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cpp "")
add_library(cairn_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
target_link_libraries(cairn_test_headers PRIVATE cairn_flags nlohmann_json::nlohmann_json GTest::gtest)
target_compile_options(cairn_test_headers PRIVATE $<$<CONFIG:Release>:-O0>)
target_precompile_headers(cairn_test_headers PRIVATE <gtest/gtest.h> <nlohmann/json.hpp>)

set(cairn_test_seconds 2400)
if(CAIRN_SANITIZE OR CAIRN_TSAN)
  set(cairn_test_seconds 7200)
endif()

# A program whose tests mostly wait for processes and servers is run in parts, side by side; the longest start first.
set(cairn_parts_of_ops 12)
set(cairn_parts_of_workers 3)
set(cairn_parts_of_storage 2)

# What a plain `ops/test` builds: no more than it runs. It sets CAIRN_TEST_FORM to _short.
add_custom_target(short_tests DEPENDS cairn)

# Files of a test program, as a part of it.
function(cairn_test_files name library)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PUBLIC ${library} GTest::gtest)
  # Tests are compiled once and run once: to optimize them takes longer than it saves.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  target_precompile_headers(${name} REUSE_FROM cairn_test_headers)
endfunction()

# The program of these parts.
function(cairn_test_program name)
  add_executable(${name} tests/paths.cpp)
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gtest_main)
endfunction()

# cairn_tests(FOLDER LABEL LIBRARY files... [LONG files...]): the program test_FOLDER, and its tests. Under LONG stand
# the files that hold long cases alone (tests/long_cases.txt), and those that only they need: test_FOLDER_short is the
# program without them. A program of nothing else is itself long.
function(cairn_tests folder label library)
  cmake_parse_arguments(PARSE_ARGV 3 files "" "" "LONG")
  set(program test_${folder})
  set(command ${program})
  set(parts)
  if(files_UNPARSED_ARGUMENTS)
    cairn_test_files(short_${folder} ${library} ${files_UNPARSED_ARGUMENTS})
    list(APPEND parts short_${folder})
  endif()
  if(files_LONG)
    cairn_test_files(long_${folder} ${library} ${files_LONG})
    list(APPEND parts long_${folder})
  endif()
  cairn_jumbo("${parts}" 100000)
  cairn_test_program(${program} ${parts})
  if(NOT files_LONG)
    add_dependencies(short_tests ${program})
  elseif(files_UNPARSED_ARGUMENTS)
    cairn_test_program(${program}_short short_${folder})
    set_target_properties(${program}_short PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(short_tests ${program}_short)
    set(command sh -c [[exec "$0$CAIRN_TEST_FORM"]] $<TARGET_FILE:${program}>)
  else()
    list(APPEND label long)
  endif()
  if(NOT cairn_parts_of_${folder})
    add_test(NAME ${folder} COMMAND ${command})
    set_tests_properties(${folder} PROPERTIES LABELS "${label}" TIMEOUT ${cairn_test_seconds})
    return()
  endif()
  math(EXPR last "${cairn_parts_of_${folder}} - 1")
  foreach(part RANGE ${last})
    add_test(NAME ${folder}_${part} COMMAND ${command})
    set_tests_properties(${folder}_${part} PROPERTIES LABELS "${label}" TIMEOUT ${cairn_test_seconds} ENVIRONMENT
                         "GTEST_TOTAL_SHARDS=${cairn_parts_of_${folder}};GTEST_SHARD_INDEX=${part}"
                         COST ${cairn_parts_of_${folder}})
  endforeach()
endfunction()

cairn_tests(engine fast cairn_simulation
  tests/engine/blame_test.cpp
  tests/engine/bounds_test.cpp
  tests/engine/branches_test.cpp
  tests/engine/cache_test.cpp
  tests/engine/causes_test.cpp
  tests/engine/cleanup_test.cpp
  tests/engine/stored/codec_test.cpp
  tests/engine/commands_test.cpp
  tests/engine/data_test.cpp
  tests/engine/decide/asking_test.cpp
  tests/engine/decide/calling_test.cpp
  tests/engine/decide/decide_test.cpp
  tests/engine/decide/decision_bounds_test.cpp
  tests/engine/decide/fan_out_test.cpp
  tests/engine/decide/mapping_test.cpp
  tests/engine/decide/retry_test.cpp
  tests/engine/ground/duration_test.cpp
  tests/engine/fork_test.cpp
  tests/engine/stored/golden_history_test.cpp
  tests/engine/graph_faults_test.cpp
  tests/engine/graph_test.cpp
  tests/engine/graph_walk_test.cpp
  tests/engine/ground/id_test.cpp
  tests/engine/ground/json_test.cpp
  tests/engine/map_items_test.cpp
  tests/engine/maps_test.cpp
  tests/engine/ground/nearest_test.cpp
  tests/engine/references_test.cpp
  tests/engine/replay_check_test.cpp
  tests/engine/schedules/schedule_rules_test.cpp
  tests/engine/schedules/schedule_times_test.cpp
  tests/engine/starts/keyed_starts_test.cpp
  tests/engine/starts/start_policy_test.cpp
  tests/engine/ground/value_space_test.cpp
  tests/engine/stored/snapshot_test.cpp
  tests/engine/stored/state_check_test.cpp
  tests/engine/ground/text_test.cpp
  tests/engine/trial.cpp
  tests/engine/stored/upcaster_test.cpp
  tests/engine/waiting_test.cpp
  LONG
  tests/engine/random_test.cpp
)
cairn_tests(storage postgres cairn_storage
  tests/waiting.cpp
  tests/storage/claim_test.cpp
  tests/storage/clock_test.cpp
  tests/storage/commit_test.cpp
  tests/storage/homes_test.cpp
  tests/storage/jitter_test.cpp
  tests/storage/job_writes_test.cpp
  tests/storage/notifications_test.cpp
  tests/storage/progress_test.cpp
  tests/storage/queue_settings_test.cpp
  tests/storage/runs_test.cpp
  tests/storage/sessions_test.cpp
  tests/storage/store_test.cpp
  tests/storage/server_programs.cpp
  tests/storage/test_database.cpp
  tests/storage/test_runs.cpp
  tests/storage/data/corpus_test.cpp
  tests/storage/data/dataset_values_test.cpp
  tests/storage/feed/feed_backlog_test.cpp
  tests/storage/feed/feed_test.cpp
  tests/storage/ground/packed_text_test.cpp
  tests/storage/limits/exact_budget_test.cpp
  tests/storage/limits/exact_rate_test.cpp
  tests/storage/limits/noted_starts.cpp
  tests/storage/limits/queue_limits_test.cpp
  tests/storage/limits/keys_test.cpp
  tests/storage/limits/rate_test.cpp
  tests/storage/hooks/hook_table_test.cpp
  tests/storage/hooks/stalled_runs_test.cpp
  tests/storage/limits/spent_limits_test.cpp
  tests/storage/limits/turns_test.cpp
  tests/storage/limits/unit_budget_test.cpp
  tests/storage/schedules/schedule_table_test.cpp
  tests/storage/starts/start_book_test.cpp
  tests/storage/migration/migrator_test.cpp
  tests/storage/postgres/bench_copies_test.cpp
  tests/storage/postgres/imported_run_test.cpp
  tests/storage/postgres/bounded_query_test.cpp
  tests/storage/postgres/citus_test.cpp
  tests/storage/postgres/claims/known_limits_test.cpp
  tests/storage/postgres/claims/scan_marks_test.cpp
  tests/storage/postgres/cluster_test.cpp
  tests/storage/postgres/cutting_proxy.cpp
  tests/storage/postgres/job_claimer_test.cpp
  tests/storage/postgres/listed_runs_test.cpp
  tests/storage/postgres/plans_test.cpp
  tests/storage/postgres/postgres_test.cpp
  tests/storage/postgres/refused_entry_test.cpp
  tests/storage/postgres/schema_test.cpp
  tests/storage/postgres/pooler_test.cpp
  tests/storage/postgres/server_lines_test.cpp
  tests/storage/postgres/silence_test.cpp
  tests/storage/pooler.cpp
  tests/storage/proof/chain_test.cpp
  tests/storage/proof/checkpoint_test.cpp
  tests/storage/proof/records_test.cpp
  tests/storage/proof/run_erasure_test.cpp
  tests/storage/proof/signing_test.cpp
  LONG
  tests/storage/oracle_test.cpp
  tests/storage/postgres/unreplicated_test.cpp
)
cairn_tests(workers postgres cairn_workers
  tests/waiting.cpp
  tests/storage/test_database.cpp
  tests/storage/test_runs.cpp
  tests/workers/broken_graphs_test.cpp
  tests/workers/means_test.cpp
  tests/workers/small_graphs.cpp
  tests/workers/gateway/ask_lines_test.cpp
  tests/workers/gateway/claim_id_test.cpp
  tests/workers/gateway/gateway_driver_test.cpp
  tests/workers/gateway/gateway_reports_test.cpp
  tests/workers/gateway/gateway_test.cpp
  tests/workers/handlers/builtin_handlers_test.cpp
  tests/workers/handlers/data_logic_test.cpp
  tests/workers/handlers/http_call_test.cpp
  tests/workers/handlers/large_values_test.cpp
  tests/workers/handlers/model_extract_test.cpp
  tests/workers/handlers/shown_values_test.cpp
  tests/workers/models/both_apis_test.cpp
  tests/workers/models/endpoint_faults_test.cpp
  tests/workers/models/event_stream_test.cpp
  tests/workers/models/known_forms_test.cpp
  tests/workers/models/long_conversation_test.cpp
  tests/workers/models/model_families_test.cpp
  tests/workers/models/model_settings_test.cpp
  tests/workers/models/model_stream_test.cpp
  tests/workers/models/model_text_test.cpp
  tests/workers/models/models_test.cpp
  tests/workers/models/partial_reply_test.cpp
  tests/workers/models/rate_limit_test.cpp
  tests/workers/models/planner_progress_test.cpp
  tests/workers/planners/page_agent/page_agent_judging_test.cpp
  tests/workers/planners/page_agent/page_agent_rules_test.cpp
  tests/workers/planners/page_agent/page_agent_test.cpp
  tests/workers/planners/planner_inputs_test.cpp
  tests/workers/planners/prompt_roles_test.cpp
  tests/workers/planners/plan_and_do/plan_and_do_course_test.cpp
  tests/workers/planners/plan_and_do/plan_and_do_test.cpp
  tests/workers/planners/plan_decomposer/plan_decomposer_failures_test.cpp
  tests/workers/planners/plan_decomposer/plan_decomposer_levels_test.cpp
  tests/workers/planners/plan_decomposer/plan_decomposer_test.cpp
  tests/workers/planners/plan_decomposer/plan_decomposer_uses_test.cpp
  tests/workers/planners/plan_decomposer/plan_outline_test.cpp
  tests/workers/planners/round_planner/round_planner_end_test.cpp
  tests/workers/planners/round_planner/round_planner_rules_test.cpp
  tests/workers/planners/round_planner/round_planner_test.cpp
  tests/workers/planners/seven_node/seven_node_questions_test.cpp
  tests/workers/planners/seven_node/seven_node_test.cpp
  tests/workers/planners/seven_node/seven_node_variants_test.cpp
  tests/workers/planners/tool_agent/asking_tools_test.cpp
  tests/workers/planners/tool_agent/tool_agent_test.cpp
  tests/workers/planners/venture_scope/evidence_test.cpp
  tests/workers/planners/venture_scope/formula_test.cpp
  tests/workers/planners/venture_scope/quantity_test.cpp
  tests/workers/planners/venture_scope/readings_test.cpp
  tests/workers/planners/venture_scope/refused_answers_test.cpp
  tests/workers/planners/venture_scope/report_test.cpp
  tests/workers/planners/venture_scope/venture_scope_nodes_test.cpp
  tests/workers/planners/venture_scope/venture_scope_policy_test.cpp
  tests/workers/planners/venture_scope/venture_scope_test.cpp
  tests/workers/ports/http_calls_test.cpp
  tests/workers/ports/http_client_test.cpp
  tests/workers/ports/log_test.cpp
  tests/workers/ports/loopback.cpp
  tests/workers/ports/progress_board_test.cpp
  tests/workers/schemas/schema_check_test.cpp
  tests/workers/schemas/schema_dialect_test.cpp
  tests/workers/ports/secrets_test.cpp
  tests/workers/ports/tools_file_test.cpp
  tests/workers/ports/native_tools_test.cpp
  tests/workers/ports/tool_confinement_test.cpp
  tests/workers/ports/tool_programs_test.cpp
  tests/workers/ports/url_tools_test.cpp
  tests/workers/ports/untrusted_text_test.cpp
  tests/workers/ports/url_place_test.cpp
  tests/workers/runs/committer_bounds_test.cpp
  tests/workers/runs/committer_calls_test.cpp
  tests/workers/runs/committer_conflicts_test.cpp
  tests/workers/runs/committer_test.cpp
  tests/workers/runs/entry_builder_test.cpp
  tests/workers/runs/executor_test.cpp
  tests/workers/runs/graph_shelf_test.cpp
  tests/workers/runtime/checkpointer_test.cpp
  tests/workers/runtime/progress_test.cpp
  tests/workers/runtime/serial_executor_test.cpp
  tests/workers/runtime/loop_watchdog_test.cpp
  tests/workers/runtime/periodic_thread_test.cpp
  tests/workers/runtime/refused_calls_test.cpp
  tests/workers/runtime/client_test.cpp
  tests/workers/runtime/worker_store_test.cpp
  tests/workers/runtime/worker_test.cpp
  tests/workers/runtime/yielding_tools_test.cpp
  tests/workers/hooks/cloud_event_test.cpp
  tests/workers/hooks/hook_reader_test.cpp
  tests/workers/hooks/hook_rules_test.cpp
  tests/workers/hooks/hook_sender_test.cpp
  tests/workers/schedules/scheduler_test.cpp
  tests/workers/schedules/zone_files_test.cpp
  tests/workers/starts/starts_by_policy_test.cpp
  tests/workers/session/commands_in_flight_test.cpp
  tests/workers/session/crowd_test.cpp
  tests/workers/session/paced_starts_test.cpp
  tests/workers/session/pool_test.cpp
  tests/workers/session/queue_limit_test.cpp
  tests/workers/session/keep_rules_test.cpp
  tests/workers/session/kept_release_test.cpp
  tests/workers/session/session_lifecycle_test.cpp
  tests/workers/session/queue_turns_test.cpp
  tests/workers/session/session_queues_test.cpp
  tests/workers/session/steps_in_flight_test.cpp
  tests/workers/session/sweeping_test.cpp
  tests/workers/session/released_database.cpp
  tests/workers/session/session_test.cpp
  tests/workers/session/upgrade_test.cpp
  tests/workers/tools/mcp/bad_servers_test.cpp
  tests/workers/tools/mcp/calls_test.cpp
  tests/workers/tools/mcp/record_test.cpp
  tests/workers/tools/corpus/corpus_meaning_test.cpp
  tests/workers/tools/corpus/corpus_tool_test.cpp
  tests/workers/tools/corpus/documents_test.cpp
  tests/workers/tools/data/data_question_test.cpp
  tests/workers/tools/data/data_explore_test.cpp
  tests/workers/tools/data/data_reading_test.cpp
  tests/workers/tools/page/page_dom_test.cpp
  tests/workers/tools/page/allowed_pages_test.cpp
  tests/workers/tools/page/page_tools_test.cpp
  tests/workers/tools/repository/repository_history_test.cpp
  tests/workers/tools/repository/repository_test.cpp
  LONG
  tests/workers/planners/round_planner/round_planner_scale_test.cpp
  tests/workers/session/same_history_test.cpp
  tests/workers/tools/page/page_guard_test.cpp
  tests/workers/tools/page/page_trial_test.cpp
)
# It speaks to the log of the library that the program is linked with.
set_source_files_properties(tests/workers/ports/log_test.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_DEFINITIONS
  "$<TARGET_PROPERTY:spdlog::spdlog,INTERFACE_COMPILE_DEFINITIONS>")
target_include_directories(short_workers SYSTEM PRIVATE ${VALIJSON_INCLUDE})
cairn_tests(simulation fast cairn_simulation
  tests/simulation/hooks_test.cpp
  tests/simulation/schedules_test.cpp
  tests/simulation/starts_test.cpp
  tests/simulation/simulation_test.cpp
)
cairn_tests(ops postgres cairn_ops
  tests/waiting.cpp
  tests/engine/trial.cpp
  tests/ops/free_port.cpp
  tests/ops/graph_schema_test.cpp
  tests/ops/patterns_test.cpp
  tests/ops/guide_handlers_test.cpp
  tests/ops/guide_test.cpp
  tests/ops/commands/server/logs_test.cpp
  tests/ops/program.cpp
  tests/ops/small_disk.cpp
  tests/ops/synced_paths.cpp
  tests/ops/answers/usage_report_test.cpp
  tests/ops/audit/archive_test.cpp
  tests/ops/audit/as_of_test.cpp
  tests/ops/audit/audited_database.cpp
  tests/ops/audit/auditor_questions_test.cpp
  tests/ops/audit/checkpoint_audit_test.cpp
  tests/ops/audit/crash_points_test.cpp
  tests/ops/audit/erase_test.cpp
  tests/ops/audit/export_test.cpp
  tests/ops/audit/export_version_test.cpp
  tests/ops/audit/keep_test.cpp
  tests/ops/audit/run_audit_test.cpp
  tests/ops/audit/verify_test.cpp
  tests/ops/commands/bad_input_test.cpp
  tests/ops/bench/growth_test.cpp
  tests/ops/runs/cleanup_test.cpp
  tests/ops/commands/command_line_test.cpp
  tests/ops/commands/runs/blame_test.cpp
  tests/ops/commands/runs/control_test.cpp
  tests/ops/commands/graphs/corpus_test.cpp
  tests/ops/commands/server/doctor_test.cpp
  tests/ops/commands/server/embedded_test.cpp
  tests/ops/commands/runs/explain_test.cpp
  tests/ops/commands/runs/fork_test.cpp
  tests/ops/commands/runs/lists_test.cpp
  tests/ops/commands/reading_test.cpp
  tests/ops/commands/graphs/reference_query_test.cpp
  tests/ops/commands/server/log_test.cpp
  tests/ops/queues/budgets_test.cpp
  tests/ops/queues/rates_test.cpp
  tests/ops/runs/losses_test.cpp
  tests/ops/servers/backup_test.cpp
  tests/ops/servers/citus_test.cpp
  tests/ops/servers/command_walk.cpp
  tests/storage/limits/noted_starts.cpp
  tests/ops/servers/replica_extent_test.cpp
  tests/ops/servers/replica_test.cpp
  tests/ops/runs/map_items_test.cpp
  tests/ops/trials/checks_test.cpp
  tests/ops/trials/planners_measure_test.cpp
  tests/ops/clients/client_test.cpp
  tests/ops/clients/odd_server.cpp
  tests/ops/clients/python_test.cpp
  tests/ops/clients/typescript_test.cpp
  tests/ops/console/console_test.cpp
  tests/ops/commands/runs/second_try_test.cpp
  tests/ops/commands/server/own_process_test.cpp
  tests/ops/commands/graphs/graph_check_test.cpp
  tests/ops/commands/graphs/simulate_test.cpp
  tests/ops/commands/guide/skill_test.cpp
  tests/ops/api_client.cpp
  tests/ops/http/api_test.cpp
  tests/ops/http/claims_test.cpp
  tests/ops/http/console/console_routes_test.cpp
  tests/ops/http/transport/exchange_test.cpp
  tests/ops/http/graph_routes_test.cpp
  tests/ops/http/large_values_test.cpp
  tests/ops/http/transport/limits_test.cpp
  tests/ops/http/openapi/described_api.cpp
  tests/ops/http/description_test.cpp
  tests/ops/http/openapi/schema_walk.cpp
  tests/ops/http/operator_test.cpp
  tests/ops/http/streams/event_stream_test.cpp
  tests/ops/http/streams/progress_test.cpp
  tests/ops/http/queue_age_test.cpp
  tests/ops/http/transport/protocol_test.cpp
  tests/ops/http/schedule_routes_test.cpp
  tests/ops/http/test_server_test.cpp
  tests/ops/http/access/tokens_test.cpp
  tests/ops/http/streams/waits_test.cpp
  tests/ops/mcp/doors_test.cpp
  tests/ops/mcp/legacy_test.cpp
  tests/ops/mcp/mcp_client.cpp
  tests/ops/mcp/modern_test.cpp
  tests/ops/mcp/resources_test.cpp
  tests/ops/mcp/tool_servers_test.cpp
  tests/ops/packaging/completion_test.cpp
  tests/ops/packaging/manual_test.cpp
  tests/ops/packaging/units_test.cpp
  tests/ops/metrics/counters_test.cpp
  tests/ops/metrics/job_tally_test.cpp
  tests/ops/metrics/alerts_test.cpp
  tests/ops/metrics/prometheus.cpp
  tests/ops/metrics/run_tally_test.cpp
  tests/ops/traces/collector.cpp
  tests/ops/traces/model_contents_test.cpp
  tests/ops/traces/run_trace_test.cpp
  tests/ops/traces/trace_thread_test.cpp
  tests/ops/hooks/hook_command_test.cpp
  tests/ops/hooks/receiver.cpp
  tests/ops/schedules/schedule_test.cpp
  tests/ops/terminal/pager_test.cpp
  tests/ops/terminal/table_test.cpp
  tests/ops/planners/page_agent_runs_test.cpp
  tests/ops/planners/plan_and_do_runs_test.cpp
  tests/ops/planners/plan_decomposer_runs_test.cpp
  tests/ops/planners/planner_runs.cpp
  tests/ops/planners/round_planner_runs_test.cpp
  tests/ops/planners/seven_node_runs_test.cpp
  tests/workers/ports/loopback.cpp
  tests/faults/machine.cpp
  tests/faults/server.cpp
  tests/storage/server_programs.cpp
  tests/storage/test_database.cpp
  LONG
  tests/ops/audit/export_bounds_test.cpp
  tests/ops/audit/invariants_test.cpp
  tests/ops/audit/random_audit_test.cpp
  tests/ops/audit/rebuild_test.cpp
  tests/ops/audit/unsigned_test.cpp
  tests/ops/bench/bench_test.cpp
  tests/ops/commands/server/hanging_database_test.cpp
  tests/ops/queues/concurrencies_test.cpp
  tests/storage/limits/noted_holds.cpp
  tests/ops/servers/lost_tail_test.cpp
  tests/ops/servers/major_upgrade_test.cpp
  tests/ops/servers/pooler_test.cpp
  tests/ops/servers/restored_server_test.cpp
  tests/ops/runs/models_test.cpp
  tests/ops/runs/refused_runs_test.cpp
  tests/ops/trials/dataset_measure_test.cpp
  tests/ops/trials/measured_figures_test.cpp
  tests/ops/commands/server/set_clock_test.cpp
  tests/ops/commands/server/shortage_test.cpp
  tests/ops/http/access/doors_test.cpp
  tests/ops/http/inbox_test.cpp
  tests/ops/http/transport/load_test.cpp
  tests/ops/http/hook_routes_test.cpp
  tests/ops/mcp/conformance_test.cpp
  tests/ops/mcp/others_servers_test.cpp
  tests/ops/packaging/manifests_test.cpp
  tests/ops/metrics/monitoring_test.cpp
  tests/ops/traces/traces_test.cpp
  tests/ops/feed/feed_test.cpp
  tests/ops/hooks/hook_test.cpp
  tests/ops/starts/starts_test.cpp
  tests/ops/planners/plan_runner_runs_test.cpp
  tests/ops/planners/recorded_conversations_test.cpp
  tests/storage/pooler.cpp
)
cairn_tests(fuzz fast cairn_workers
  tests/fuzz/bombs.cpp
  tests/fuzz/fuzz_test.cpp
  tests/fuzz/history.cpp
  tests/fuzz/run.cpp
  tests/fuzz/targets.cpp
)
if(CAIRN_FUZZ)
  add_executable(cairn_fuzz tests/fuzz/bombs.cpp tests/fuzz/history.cpp tests/fuzz/libfuzzer.cpp tests/fuzz/run.cpp
    tests/fuzz/targets.cpp)
  target_link_libraries(cairn_fuzz PRIVATE cairn_workers)
  target_link_options(cairn_fuzz PRIVATE -fsanitize=fuzzer)
endif()
cairn_tests(faults postgres cairn_storage
  LONG
  tests/waiting.cpp
  tests/faults/broken_servers_test.cpp
  tests/faults/commands.cpp
  tests/faults/languages_test.cpp
  tests/faults/load.cpp
  tests/faults/lock_watch.cpp
  tests/faults/machine.cpp
  tests/faults/mixture_test.cpp
  tests/faults/network_faults_test.cpp
  tests/faults/patroni_cluster.cpp
  tests/faults/patroni_test.cpp
  tests/faults/process_faults_test.cpp
  tests/faults/proof_faults_test.cpp
  tests/faults/results.cpp
  tests/faults/rough_path.cpp
  tests/faults/server.cpp
  tests/faults/server_faults_test.cpp
  tests/faults/stopped_processes_test.cpp
  tests/faults/tampering.cpp
  tests/faults/two_releases_test.cpp
  tests/ops/free_port.cpp
  tests/ops/program.cpp
  tests/ops/small_disk.cpp
  tests/storage/test_database.cpp
  tests/storage/postgres/cutting_proxy.cpp
  tests/storage/pooler.cpp
)
add_executable(note tests/faults/note.cpp)
target_link_libraries(note PRIVATE cairn_flags nlohmann_json::nlohmann_json)
add_dependencies(test_faults cairn note)
set_tests_properties(faults PROPERTIES RUN_SERIAL ON)  # its times are those of leases, on a machine that is its own
add_executable(crash_worker tests/ops/audit/crash_worker.cpp)
target_link_libraries(crash_worker PRIVATE cairn_ops)
add_library(moved_clock MODULE tests/ops/moved_clock.cpp)
target_sources(short_ops PRIVATE tests/ops/library/client_test.cpp)
target_link_libraries(short_ops PUBLIC cairn_library)
if(NOT CAIRN_SANITIZE AND NOT CAIRN_TSAN)  # others build against the library, and get packages, as they are released
  target_sources(short_ops PRIVATE tests/ops/library/library_test.cpp)
  target_sources(long_ops PRIVATE tests/ops/packaging/packages_test.cpp)
endif()
add_dependencies(test_ops cairn crash_worker moved_clock)
add_dependencies(test_ops_short cairn crash_worker)

# The tidy tests read the sources; they need nothing of the program.
add_executable(test_tidy
  tests/paths.cpp
  tests/tidy/attacks_test.cpp
  tests/tidy/build_test.cpp
  tests/tidy/form_test.cpp
  tests/tidy/frictions_test.cpp
  tests/tidy/long_cases_test.cpp
  tests/tidy/named_tests.cpp
  tests/tidy/migrations_test.cpp
  tests/tidy/names_test.cpp
  tests/tidy/pages_test.cpp
  tests/tidy/placements_test.cpp
  tests/tidy/planned_statements_test.cpp
  tests/tidy/prose_test.cpp
  tests/tidy/requirements_test.cpp
  tests/tidy/rooms_test.cpp
  tests/tidy/semantics_test.cpp
  tests/tidy/sources.cpp
  tests/tidy/threat_model_test.cpp
)
target_link_libraries(test_tidy PRIVATE cairn_flags GTest::gtest GTest::gtest_main)
cairn_jumbo(test_tidy 60000)
add_dependencies(short_tests test_tidy)
add_test(NAME tidy COMMAND test_tidy)
set_tests_properties(tidy PROPERTIES LABELS fast)

# All that `ops/test --fast` builds: these tests, and the programs, so that they are known to build.
add_custom_target(fast_tests DEPENDS cairn test_engine test_fuzz test_simulation test_tidy)
