"use client";
// <AgentGate> for React 18 and 19. The SDK is loaded from the service when the first one is mounted, never on a server.

import { OPTIONS, mount } from "@agentgate/sdk";
import { createElement, forwardRef, useEffect, useImperativeHandle, useRef } from "react";

const CALLBACKS = {
  onToken: "callback",
  onError: "errorCallback",
  onExpired: "expiredCallback",
  onBeforeInteractive: "beforeInteractiveCallback",
  onAfterInteractive: "afterInteractiveCallback",
};

export const AgentGate = forwardRef(function AgentGate({ src, nonce, ...given }, ref) {
  const element = useRef(null);
  const mounted = useRef(null);
  const latest = useRef(given);
  const options = {};
  const attributes = {};
  for (const name in given) {
    if (OPTIONS.includes(name)) options[name] = given[name];
    else if (!(name in CALLBACKS)) attributes[name] = given[name];
  }

  // Another callback makes no other widget: the latest one is called.
  useEffect(() => {
    latest.current = given;
  });

  // Another option does.
  useEffect(() => {
    for (const name in CALLBACKS) options[CALLBACKS[name]] = (...values) => latest.current[name]?.(...values);
    mounted.current = mount(element.current, src, { ...options, nonce });
    return mounted.current.remove;
  }, [src, nonce, ...OPTIONS.map((name) => given[name])]);

  useImperativeHandle(
    ref,
    () => ({
      execute: () => mounted.current.execute(),
      reset: () => mounted.current.reset(),
      getResponse: () => mounted.current.getResponse(),
      isExpired: () => mounted.current.isExpired(),
    }),
    [],
  );

  return createElement("div", { ...attributes, ref: element });
});
