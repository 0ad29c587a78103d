"""The Python SDKs, each by its own ways: python sdks.py URL KEY MODEL. Prints a line of JSON for each way: its name, and what is wrong or null."""
import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import anthropic
import litellm
import openai

url, key, model = sys.argv[1:]
litellm.suppress_debug_info = True
client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
claude = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0)

parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
function = {"type": "function", "function": {"name": "weather", "parameters": parameters}}
question = {"role": "user", "content": "What is the weather in Rome?"}


def same(got, wanted):
    assert got == wanted, f"{got!r}, not {wanted!r}"


def chat(is_stream):
    def ask(messages):
        params = {"model": model, "messages": messages, "tools": [function], "reasoning_effort": "low"}
        if not is_stream:
            return client.chat.completions.create(**params)
        with client.chat.completions.stream(**params) as stream:
            for _ in stream:
                pass
            return stream.get_final_completion()

    first = ask([question])
    message = first.choices[0].message
    same(first.usage.total_tokens, 18)
    same([call.function.name for call in message.tool_calls], ["weather"])
    second = ask([question, message.model_dump(exclude_none=True, exclude={"parsed"}), {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21"}])
    same(second.choices[0].message.content, "Done.")


def responses(is_stream):
    def ask(given):
        params = {"model": model, "input": given, "tools": [{"type": "function", "name": "weather", "parameters": parameters, "strict": False}], "reasoning": {"effort": "low"}, "store": False, "include": ["reasoning.encrypted_content"]}
        if not is_stream:
            return client.responses.create(**params)
        with client.responses.stream(**params) as stream:
            for _ in stream:
                pass
            return stream.get_final_response()

    first = ask([question])
    call = next(item for item in first.output if item.type == "function_call")
    second = ask([question, *[item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output], {"type": "function_call_output", "call_id": call.call_id, "output": "21"}])
    same(second.output_text, "Done.")
    same(second.usage.total_tokens, 18)


def embeddings():
    reply = client.embeddings.create(model="mock-embedding", input=["one", "two"])
    same(len(reply.data), 2)
    same(type(reply.data[0].embedding[0]), float)


def messages(is_stream):
    def ask(given):
        params = {"model": model, "max_tokens": 4096, "messages": given, "thinking": {"type": "adaptive"}, "tools": [{"name": "weather", "input_schema": parameters}]}
        if not is_stream:
            return claude.messages.create(**params)
        with claude.messages.stream(**params) as stream:
            return stream.get_final_message()

    first = ask([question])
    use = next(block for block in first.content if block.type == "tool_use")
    same(use.input, {"city": "Rome"})
    content = [block.model_dump(exclude_none=True) for block in first.content]
    second = ask([question, {"role": "assistant", "content": content}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "21"}]}])
    same("".join(block.text for block in second.content if block.type == "text"), "Done.")


def counting():
    assert claude.messages.count_tokens(model=model, messages=[question]).input_tokens > 0
    assert model in [one.id for one in claude.models.list(limit=100)]


def by_litellm(prefix, base, is_stream):
    def ask(given):
        params = {"model": f"{prefix}/{model}", "api_base": base, "api_key": key, "messages": given, "tools": [function], "max_tokens": 4096}
        # for anthropic/ models LiteLLM turns the effort into a budget, and a model without budgets answers 400
        if prefix == "openai":
            params |= {"reasoning_effort": "low", "allowed_openai_params": ["reasoning_effort"]}
        if not is_stream:
            return litellm.completion(**params)
        return litellm.stream_chunk_builder(list(litellm.completion(stream=True, **params)), messages=given)

    first = ask([question])
    message = first.choices[0].message
    same([call.function.name for call in message.tool_calls], ["weather"])
    same(first.usage.total_tokens, 18)
    second = ask([question, message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21"}])
    same(second.choices[0].message.content, "Done.")


def litellm_responses():
    reply = litellm.responses(model=f"openai/{model}", api_base=f"{url}/v1", api_key=key, input="Greet me.")
    same(reply.output[-1].content[0].text, "Done.")


def litellm_embedding():
    reply = litellm.embedding(model="openai/mock-embedding", api_base=f"{url}/v1", api_key=key, input=["one", "two"], encoding_format="float")
    same(len(reply.data), 2)


ways = {
    "openai-python, chat": lambda: chat(False),
    "openai-python, chat, streamed": lambda: chat(True),
    "openai-python, responses": lambda: responses(False),
    "openai-python, responses, streamed": lambda: responses(True),
    "openai-python, embeddings": embeddings,
    "anthropic-python, messages": lambda: messages(False),
    "anthropic-python, messages, streamed": lambda: messages(True),
    "anthropic-python, counting and models": counting,
    "litellm openai/": lambda: by_litellm("openai", f"{url}/v1", False),
    "litellm openai/, streamed": lambda: by_litellm("openai", f"{url}/v1", True),
    "litellm anthropic/": lambda: by_litellm("anthropic", url, False),
    "litellm anthropic/, streamed": lambda: by_litellm("anthropic", url, True),
    "litellm responses": litellm_responses,
    "litellm embedding": litellm_embedding,
}
for name, way in ways.items():
    try:
        way()
        fault = None
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"[:400]
    print(json.dumps({"name": name, "fault": fault}), flush=True)
