"""For tests of applications: a chat server that speaks OpenAI's API over real HTTP and says what a script says."""

from preflight_rag.testing.scripted_replies import Reply, prompt_of
from preflight_rag.testing.scripted_server import Received, Rule, ScriptedServer, read_log

__all__ = ["Received", "Reply", "Rule", "ScriptedServer", "prompt_of", "read_log"]
