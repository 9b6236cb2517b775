// The names of the library as its own sources see them: cairn::library::Client is a program's cairn::Client. Plain
// declarations, safe from any thread.
#pragma once

#define CAIRN_IN_LIBRARY
#include <cairn/client.hpp>
#include <cairn/engine.hpp>
#include <cairn/handlers.hpp>
#include <cairn/worker.hpp>
