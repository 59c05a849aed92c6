// <AgentGate> for Vue 3: `v-model` holds the token. The SDK is loaded from the service on mount, never on a server.

import { OPTIONS, mount } from "@agentgate/sdk";
import { defineComponent, h, onBeforeUnmount, onMounted, ref, watch } from "vue";

// No defaults: an option that is not given is the service's to choose. `null` takes any type.
const props = { src: { type: String, required: true }, nonce: null, modelValue: null };
for (const name of OPTIONS) props[name] = { type: null, default: undefined };

const EVENTS = {
  callback: "token",
  errorCallback: "error",
  expiredCallback: "expired",
  beforeInteractiveCallback: "before-interactive",
  afterInteractiveCallback: "after-interactive",
};

export const AgentGate = defineComponent({
  name: "AgentGate",
  props,
  emits: ["update:modelValue", ...Object.values(EVENTS)],
  setup(given, { emit, expose }) {
    const element = ref(null);
    let mounted;

    // `v-model` holds what can be sent now: nothing once the token has expired, or while another is being fetched.
    const tell = (token) => {
      if ((given.modelValue ?? "") !== token) emit("update:modelValue", token);
    };
    const begin = () => {
      const options = { nonce: given.nonce };
      for (const name of OPTIONS) options[name] = given[name];
      for (const name in EVENTS) {
        options[name] = (...values) => {
          if (name === "callback") tell(values[0]);
          else if (name === "errorCallback" || name === "expiredCallback") tell("");
          emit(EVENTS[name], ...values);
        };
      }
      mounted = mount(element.value, given.src, options);
    };
    const end = () => mounted?.remove();

    onMounted(begin);
    onBeforeUnmount(end);
    watch(
      () => [given.src, given.nonce, ...OPTIONS.map((name) => given[name])],
      () => {
        end();
        tell("");
        begin();
      },
    );
    expose({
      execute: () => mounted.execute(),
      reset: () => {
        tell("");
        mounted.reset();
      },
      getResponse: () => mounted.getResponse(),
      isExpired: () => mounted.isExpired(),
    });
    return () => h("div", { ref: element });
  },
});
