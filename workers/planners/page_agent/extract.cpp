// The page agent's reading: what a goal asks, off the page, by a schema, with the passages that it rests on.
#include <algorithm>
#include <utility>

#include "workers/handlers/step_fields.hpp"
#include "workers/planners/page_agent/page_agent.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn::page_agent {
namespace {

// All that the page says, as words with single spaces between them, in lower case.
std::string words_of_page(const PageElements& page) {
  std::string text = " ";
  for (const PageElement& element : page) {
    for (const std::string& part : {element.label(), element.text, std::string(element.attribute("value")),
                                    std::string(element.attribute("options"))}) {
      for (const std::string& word : words_of(part)) text += word + " ";
    }
  }
  return text;
}

bool stands_in(const std::string& page, const std::string& quote) {
  std::string wanted = " ";
  for (const std::string& word : words_of(quote)) wanted += word + " ";
  return page.find(wanted) != std::string::npos;
}

// The quote that the page does not say, whole or, where it joins several elements, line by line; "": all are there.
std::string invented(const Json& quotes, const PageElements& page) {
  const std::string text = words_of_page(page);
  for (const Json& quote : quotes) {
    const std::string whole = quote.get<std::string>();
    std::size_t from = 0;
    bool is_there = stands_in(text, whole);
    if (!is_there && whole.find('\n') != std::string::npos) {
      is_there = true;
      while (from <= whole.size()) {
        const std::size_t end = std::min(whole.find('\n', from), whole.size());
        is_there = is_there && stands_in(text, whole.substr(from, end - from));
        from = end + 1;
      }
    }
    if (!is_there) return whole;
  }
  return "";
}

// The reply's schema with what the run's input asks for in place of a text.
Json schema_with(const Json& asked, Json schema) {
  if (asked.is_object()) schema["properties"]["value"] = {{"anyOf", {asked, {{"type", "null"}}}}};
  return schema;
}

}  // namespace

Waiting extract(StepInput input, Ports& ports, std::string what) {
  Json page = channel(input, "page", Json::object());
  for (const char* of_act : {"fault", "reopened"}) page.erase(of_act);
  Json data = {{"goal", channel(input, "goal")},
               {"what", what},
               {"url", text_of(page, "url")},
               {"title", text_of(page, "title")},
               {"dom", text_of(page, "dom")}};
  ModelRequest request = request_of(input, Role::extraction, std::move(data));
  request.schema = schema_with(channel(input, "answer_schema"), std::move(request.schema));
  const auto read = [&](const ModelReply& reply) -> StepResult {
    const Json quotes = reply.value.value("quotes", Json::array());
    const Json value = reply.value.value("value", Json());
    if (const std::string quote = invented(quotes, read_page(text_of(page, "dom"))); !quote.empty())
      return bad_reply("Expected quotes that stand in the page, but " + excerpt(Json(quote), 200) + " does not.");
    if (!value.is_null() && quotes.empty())
      return bad_reply("Expected a quote of the page that the value rests on, but there is none.");
    page["performed"] = !value.is_null();
    Outcome outcome{"acted", Json::object(), {}};
    if (value.is_null()) {
      page["fault"] = {{"kind", "not_found"}, {"says", "Expected the page to say " + what + ", but it does not."}};
    } else {
      outcome.patch["extracted"] =
          Json::array({{{"what", what}, {"value", value}, {"quotes", quotes}, {"url", text_of(page, "url")}}});
    }
    outcome.patch["page"] = page;
    return outcome;
  };
  co_return co_await ask_model_counted(std::move(request), ports, read);
}

}  // namespace cairn::page_agent
