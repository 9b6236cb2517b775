#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <limits>
#include <thread>
#include <utility>

#include "ops/answers/feed_lines.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/feed_arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"
#include "storage/feed/feed_pages.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds feed_pause{100};
constexpr std::int32_t events_at_once = 2'000;
constexpr std::size_t summary_max = 150;  // of an event on a terminal, which takes two or three lines

struct FeedOptions {
  FeedConsumer consumer;
  FeedStart from = FeedStart::history;
  std::string cursor;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  bool follows = false;
  bool confirms = false;
  bool goes_back = false;
};

struct OpenedFeed {
  std::unique_ptr<Store> store;
  std::unique_ptr<Feed> feed;
};

Result<OpenedFeed> open_feed(const Settings& settings) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  Result<std::unique_ptr<Store>> store = open_store(*dsn);
  if (!store) return store.error();
  auto feed = std::make_unique<Feed>(*dsn, (*store)->shards(), (*store)->identity());
  return OpenedFeed{*std::move(store), std::move(feed)};
}

Exit feed_add(const Settings& settings, const FeedOptions& options) {
  Result<OpenedFeed> opened = open_feed(settings);
  if (!opened) return opened.error();
  FeedConsumer consumer = options.consumer;
  consumer.created_by = current_actor();
  if (const Status added = opened->feed->add(consumer, options.from); !added) return added.error();
  if (settings.json)
    print_json({{"name", consumer.name}, {"added", true}});
  else
    print_paragraph("Consumer " + consumer.name + " is added: `cairn feed read " + consumer.name +
                    "` gives it events.");
  return exit_ok;
}

Exit feed_remove(const Settings& settings, const FeedOptions& options) {
  Result<OpenedFeed> opened = open_feed(settings);
  if (!opened) return opened.error();
  if (const Status removed = opened->feed->remove(options.consumer.name); !removed) return removed.error();
  if (settings.json)
    print_json({{"name", options.consumer.name}, {"removed", true}});
  else
    print_paragraph("Consumer " + options.consumer.name + " is removed.");
  return exit_ok;
}

std::string lag_text(const FeedStanding& standing, TimeUs now_us) {
  if (!standing.has_places) return "not added to the end";
  if (standing.reads_history) return "reads history";
  if (standing.behind == 0) return "0";
  return std::to_string(standing.behind) + (standing.is_more ? "+, " : ", ") +
         duration_text(now_us - standing.oldest.value_or(now_us));
}

Exit feed_list(const Settings& settings, const ListPart& part) {
  Result<OpenedFeed> opened = open_feed(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  Table table({"NAME", "BEHIND", "MOVED (" + zone_name(now_us) + ")", "GRAPH", "BY"});
  std::vector<ListRow> rows;
  for (const FeedStanding& standing : opened->feed->consumers())
    rows.push_back({standing.consumer.name,
                    consumer_json(standing),
                    {standing.consumer.name, lag_text(standing, now_us),
                     standing.moved_at == 0 ? "" : listed_time(standing.moved_at, now_us),
                     standing.consumer.filter.graph, standing.consumer.created_by}});
  print_list(settings, std::move(table), std::move(rows), part, LastColumn::wrapped);
  return exit_ok;
}

void print_feed_event(const Json& line) {
  const TimeUs at_us = parse_time(line.at("at").get<std::string>()).value_or(0);
  const std::string type = line.at("type").is_string() ? line.at("type").get<std::string>() : line.at("type").dump();
  const std::string text = line.at("run").get<std::string>() + "  " + line.at("seq").dump() + "  " + type + "  ";
  const std::size_t used = 21 + shown_width(text);  // with the time
  const std::size_t room = is_terminal() ? summary_max : std::max(line_width(), used + 20) - used;
  print_below(painted(local_time(at_us), Paint::dim) + "  ", "    ", text + event_summary(line, room));
}

// The events of the page, and after them the cursor: who reads the lines has all before it.
void print_page(const Settings& settings, const FeedPage& page) {
  for (const FeedEvent& event : page.events) {
    const Json line = feed_line(event);
    settings.json ? print_json(line) : print_feed_event(line);
  }
  if (settings.json)
    print_json(feed_end(page));
  else
    print_line(painted("cursor " + to_text(page.cursor), Paint::dim));
  std::cout.flush();
  if (page.missing > 0)
    std::cerr << "cairn: " << counted(page.missing, "event")
              << " before this cursor are not there: their runs were archived or erased before they were read.\n";
}

Exit feed_read(const Settings& settings, const FeedOptions& options) {
  Result<OpenedFeed> opened = open_feed(settings);
  if (!opened) return opened.error();
  const StopSignals signals;
  std::string cursor = options.cursor;
  FeedPages pages(*opened->feed, options.consumer.name, cursor);
  for (std::int64_t left = options.limit; left > 0 && !signals.arrived();) {
    const auto wanted = static_cast<std::int32_t>(std::min<std::int64_t>(left, events_at_once));
    const auto later = static_cast<std::int32_t>(std::min<std::int64_t>(left - wanted, events_at_once));
    const Result<FeedPage> page = pages.next(wanted, later);
    if (!page) return page.error();
    const std::string after = to_text(page->cursor);
    if (after != cursor || !page->is_last) print_page(settings, *page);
    if (!is_read() || !std::cout) break;  // the last page may have been lost
    if (options.confirms && after != cursor)
      if (const Status moved = opened->feed->confirm(options.consumer.name, after); !moved) return moved.error();
    cursor = after;
    left -= static_cast<std::int64_t>(page->events.size());
    if (!page->is_last) continue;
    if (!options.follows) break;
    std::this_thread::sleep_for(feed_pause);
  }
  return exit_ok;
}

Exit feed_confirm(const Settings& settings, const FeedOptions& options) {
  Result<OpenedFeed> opened = open_feed(settings);
  if (!opened) return opened.error();
  const FeedMove move = options.goes_back ? FeedMove::back : FeedMove::on;
  if (const Status moved = opened->feed->confirm(options.consumer.name, options.cursor, move); !moved)
    return moved.error();
  if (settings.json)
    print_json({{"name", options.consumer.name}, {"cursor", options.cursor}});
  else
    print_paragraph("Consumer " + options.consumer.name + " goes on after the cursor.");
  return exit_ok;
}

void add_consumer_name(CLI::App& command, FeedOptions& options) {
  add_text(command, "NAME", "", "The consumer's name", [&options](const std::string& text) {
    return assign(options.consumer.name, consumer_name_argument(text));
  })->required();
}

void add_filter(CLI::App& command, FeedOptions& options) {
  add_text(command, "--from", "START",
           "history (the default): first what is there, run by run; now: only what is committed from now on",
           [&options](const std::string& text) { return assign(options.from, feed_start_argument(text)); });
  add_text(command, "--graph", "NAME", "Only events of runs of this graph", [&options](const std::string& text) {
    options.consumer.filter.graph = text;
    return Status(Done{});
  });
  add_tags(command, "Only events of runs with this tag (repeatable)", options.consumer.filter.tags);
  add_list(command, "--type", "TYPE", "Only events of this type (repeatable)",
           [&options](const std::vector<std::string>& texts) {
             return assign(options.consumer.filter.types, event_types_argument(texts));
           });
}

void add_feed_read(CommandLine& line, CLI::App& group, FeedOptions& options) {
  CLI::App& read =
      add_command(line, group, "read", "Events from the consumer's place on, and the cursor after each page",
                  "cairn feed read warehouse --json --confirm",
                  paged([&](const Settings& settings) { return feed_read(settings, options); },
                        [&] { return options.follows || options.confirms; }));
  add_consumer_name(read, options);
  read.add_option("--after", options.cursor, "Go on after this cursor, not from the consumer's place")
      ->type_name("CURSOR");
  read.add_option("--limit", options.limit, "At most about so many events")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  read.add_flag("--follow", options.follows, "Go on until it is stopped");
  read.add_flag("--confirm", options.confirms, "Move the consumer's place after each page that was printed");
}

}  // namespace

void add_feed(CommandLine& line) {
  auto& options = line.keep<FeedOptions>();
  CLI::App& group =
      add_group(line, "feed", "The events of all runs, for consumers that follow them", "cairn feed list");
  CLI::App& add = add_command(line, group, "add", "Make a consumer; commits are kept for it from now on",
                              "cairn feed add warehouse --graph seven_node",
                              [&](const Settings& settings) { return feed_add(settings, options); });
  add_consumer_name(add, options);
  add_filter(add, options);
  auto& part = line.keep<ListPart>();
  add_list_part(add_command(line, group, "list", "The consumers, and how far behind each is", "cairn feed list --json",
                            paged([&](const Settings& settings) { return feed_list(settings, part); })),
                part);
  add_feed_read(line, group, options);
  CLI::App& confirm = add_command(line, group, "confirm", "Move the consumer's place: it has all before the cursor",
                                  "cairn feed confirm warehouse CURSOR",
                                  [&](const Settings& settings) { return feed_confirm(settings, options); });
  add_consumer_name(confirm, options);
  confirm.add_option("CURSOR", options.cursor, "As `cairn feed read` gave it")->required();
  confirm.add_flag("--back", options.goes_back, "Also to an earlier place: what was confirmed since comes again");
  CLI::App& remove = add_command(line, group, "remove", "End a consumer; nothing is kept for it any more",
                                 "cairn feed remove warehouse",
                                 [&](const Settings& settings) { return feed_remove(settings, options); });
  add_consumer_name(remove, options);
}

}  // namespace cairn
