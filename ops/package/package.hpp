// The names of the package as its own sources see them: cairn::package::Client is a program's cairn::Client. Plain
// declarations, safe from any thread.
#pragma once

#define CAIRN_IN_PACKAGE
#include <cairn/client.hpp>
#include <cairn/engine.hpp>
#include <cairn/handlers.hpp>
#include <cairn/worker.hpp>
