import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.ReasoningEffort;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.ResponseCreateParams;
import java.util.List;
import java.util.Map;

/** The Java SDK: java -cp LIB/* Sdks.java URL KEY MODEL. Prints a line of JSON for each way: its name, and what is wrong or null. */
public class Sdks {
  interface Way {
    void run() throws Exception;
  }

  static OpenAIClient client;
  static String model;

  static void same(Object got, Object wanted) {
    if (!wanted.equals(got)) throw new IllegalStateException(got + ", not " + wanted);
  }

  static void way(String name, Way way) {
    String fault = null;
    try {
      way.run();
    } catch (Throwable error) {
      fault = String.valueOf(error);
    }
    System.out.println("{\"name\":\"" + name + "\",\"fault\":" + (fault == null ? "null" : "\"" + fault.replaceAll("[\"\\\\\\p{Cntrl}]", "'") + "\"") + "}");
  }

  static ChatCompletionCreateParams.Builder question() {
    var parameters = FunctionParameters.builder()
      .putAdditionalProperty("type", JsonValue.from("object"))
      .putAdditionalProperty("properties", JsonValue.from(Map.of("city", Map.of("type", "string"))))
      .build();
    var tool = ChatCompletionFunctionTool.builder().function(FunctionDefinition.builder().name("weather").parameters(parameters).build()).build();
    return ChatCompletionCreateParams.builder().model(model).addUserMessage("What is the weather in Rome?").addTool(tool).reasoningEffort(ReasoningEffort.LOW);
  }

  static ChatCompletion streamed(ChatCompletionCreateParams params) {
    var accumulator = ChatCompletionAccumulator.create();
    try (var stream = client.chat().completions().createStreaming(params)) {
      stream.stream().forEach(accumulator::accumulate);
    }
    return accumulator.chatCompletion();
  }

  static ChatCompletion ask(ChatCompletionCreateParams params, boolean isStream) {
    return isStream ? streamed(params) : client.chat().completions().create(params);
  }

  static void loop(boolean isStream) {
    var first = ask(question().build(), isStream);
    same(first.usage().get().totalTokens(), 18L);
    var message = first.choices().get(0).message();
    var call = message.toolCalls().get().get(0).asFunction();
    same(call.function().name(), "weather");
    var result = ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content("21").build();
    var second = ask(question().addMessage(message).addMessage(result).build(), isStream);
    same(second.choices().get(0).message().content().get(), "Done.");
  }

  public static void main(String[] args) {
    client = OpenAIOkHttpClient.builder().baseUrl(args[0] + "/v1").apiKey(args[1]).maxRetries(0).build();
    model = args[2];
    way("openai-java, chat", () -> loop(false));
    way("openai-java, chat, streamed", () -> loop(true));
    way("openai-java, chat, streamed, usage asked for", () -> {
      var options = ChatCompletionStreamOptions.builder().includeUsage(true).build();
      same(streamed(question().streamOptions(options).build()).usage().get().totalTokens(), 18L);
    });
    way("openai-java, responses, streamed", () -> {
      var accumulator = ResponseAccumulator.create();
      var params = ResponseCreateParams.builder().model(model).input("Greet me.").build();
      try (var stream = client.responses().createStreaming(params)) {
        stream.stream().forEach(accumulator::accumulate);
      }
      var texts = accumulator.response().output().stream().flatMap(item -> item.message().stream()).flatMap(said -> said.content().stream()).map(part -> part.asOutputText().text());
      same(texts.toList(), List.of("Done."));
    });
    way("openai-java, embeddings", () -> {
      var params = EmbeddingCreateParams.builder().model("mock-embedding").inputOfArrayOfStrings(List.of("one", "two")).build();
      same(client.embeddings().create(params).data().size(), 2);
    });
    System.exit(0);
  }
}
