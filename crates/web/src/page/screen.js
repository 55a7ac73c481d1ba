// SPDX-License-Identifier: Apache-2.0
// The page's side of crates/web: RFB 3.8 over a WebSocket, drawn on a canvas. Each WebSocket
// message from the server is one whole message of RFB.
"use strict";

(() => {
  const BAR_PIXELS = 32;
  const RESIZE_MILLIS = 300;
  const SIDE_MIN = 64;
  const SIDE_MAX = 4096;
  const WHEEL_PIXELS = 100;
  const CLIP_BYTES_MAX = 65536;
  const DESKTOP_SIZE = -223;
  const BACK = 0x1008ff26;
  const CONTROL = 0xffe3;
  const KEYSYMS = {
    Backspace: 0xff08, Tab: 0xff09, Enter: 0xff0d, Pause: 0xff13, ScrollLock: 0xff14, Escape: 0xff1b,
    Home: 0xff50, ArrowLeft: 0xff51, ArrowUp: 0xff52, ArrowRight: 0xff53, ArrowDown: 0xff54,
    PageUp: 0xff55, PageDown: 0xff56, End: 0xff57, PrintScreen: 0xff61, Insert: 0xff63,
    ContextMenu: 0xff67, NumLock: 0xff7f, CapsLock: 0xffe5, Delete: 0xffff, Shift: 0xffe1,
    Control: 0xffe3, Alt: 0xffe9, Meta: 0xffe7, BrowserBack: BACK,
  };

  const canvas = document.getElementById("display");
  const state = document.getElementById("state");
  const context = canvas.getContext("2d", { alpha: false });
  const token = takeToken();
  let socket = null;
  let take = version;
  let buttons = 0;
  let wheel = { x: 0, y: 0 };
  let fingers = new Map();
  let copied = null;

  // The token is taken out of the address, so that it stays in no history.
  function takeToken() {
    const given = location.hash.slice(1);
    if (given) {
      sessionStorage.setItem("token", given);
      history.replaceState(null, "", location.pathname);
    }
    return sessionStorage.getItem("token") || "";
  }

  function say(text) {
    state.textContent = text;
    document.body.dataset.state = text;
  }

  function connect() {
    socket = new WebSocket("ws://" + location.host + "/rfb", ["takt.rfb", token || "none"]);
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event) => take(new DataView(event.data));
    socket.onclose = () => say(take === version ? "refused: open the address with its token" : "the application has ended");
  }

  function send(bytes) {
    if (socket && socket.readyState === WebSocket.OPEN && (take === message || take.isHello)) {
      socket.send(new Uint8Array(bytes));
    }
  }

  function half(number) {
    return [(number >> 8) & 255, number & 255];
  }

  function word(number) {
    return [(number >>> 24) & 255, (number >>> 16) & 255, (number >>> 8) & 255, number & 255];
  }

  function version(view) {
    take = security;
    send(new Uint8Array(view.buffer));
  }

  function security() {
    take = result;
    send([1]);
  }

  function result() {
    take = init;
    send([1]);
  }
  for (const step of [security, result, init]) {
    step.isHello = true;
  }

  function init(view) {
    resized(view.getUint16(0), view.getUint16(2));
    const name = new Uint8Array(view.buffer, 24, view.getUint32(20));
    document.title = new TextDecoder().decode(name);
    take = message;
    send([2, 0, 0, 2, ...word(0), ...word(DESKTOP_SIZE)]);
    request(false);
    say("connected");
    canvas.focus();
  }

  function request(isIncremental) {
    send([3, isIncremental ? 1 : 0, 0, 0, 0, 0, ...half(canvas.width), ...half(canvas.height)]);
  }

  function resized(width, height) {
    canvas.width = width;
    canvas.height = height;
  }

  function message(view) {
    switch (view.getUint8(0)) {
      case 0: update(view); break;
      case 3: clip(view); break;
      default: socket.close();
    }
  }

  function update(view) {
    let place = 4;
    let isWhole = true;
    for (let count = view.getUint16(2); count > 0; count--) {
      const [x, y, width, height] = [0, 2, 4, 6].map((it) => view.getUint16(place + it));
      const encoding = view.getInt32(place + 8);
      place += 12;
      if (encoding === DESKTOP_SIZE) {
        resized(width, height);
        isWhole = false;
      } else {
        const pixels = new Uint8ClampedArray(view.buffer, place, width * height * 4);
        context.putImageData(new ImageData(pixels, width, height), x, y);
        place += pixels.length;
      }
    }
    // The next one is asked for when this one is seen: a page that is slow gets fewer.
    document.body.dataset.updates = Number(document.body.dataset.updates || 0) + 1;
    requestAnimationFrame(() => request(isWhole));
  }

  async function clip(view) {
    copied = new TextDecoder().decode(new Uint8Array(view.buffer, 8, view.getUint32(4)));
    document.body.dataset.clip = copied;
    try {
      await navigator.clipboard.writeText(copied);
    } catch {
      say("copied in the application: the browser does not let this page write its clipboard");
    }
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    const inside = (it, most) => Math.max(0, Math.min(most - 1, Math.round(it)));
    const x = inside((event.clientX - box.left) * canvas.width / box.width, canvas.width);
    const y = inside((event.clientY - box.top) * canvas.height / box.height, canvas.height);
    return [...half(x), ...half(y)];
  }

  function pointer(event, mask) {
    send([5, mask, ...place(event)]);
  }

  // A finger or a pen is a finger; a mouse has buttons.
  function touch(event, action) {
    let finger = fingers.get(event.pointerId);
    if (action === 0) {
      const used = new Set(fingers.values());
      finger = [...Array(10).keys()].find((it) => !used.has(it));
      if (finger === undefined) return;
      fingers.set(event.pointerId, finger);
    }
    if (finger === undefined) return;
    if (action === 1 || action === 3) fingers.delete(event.pointerId);
    send([200, action, finger, 0, ...place(event)]);
  }

  function maskOf(event) {
    return (event.buttons & 1) | ((event.buttons & 2) << 1) | ((event.buttons & 4) >> 1);
  }

  function onPointer(event, action) {
    event.preventDefault();
    if (event.pointerType !== "mouse") {
      touch(event, action);
      return;
    }
    buttons = maskOf(event);
    pointer(event, buttons);
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.focus();
    canvas.setPointerCapture(event.pointerId);
    onPointer(event, 0);
  });
  canvas.addEventListener("pointerup", (event) => onPointer(event, 1));
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || event.buttons || buttons) onPointer(event, 2);
  });
  canvas.addEventListener("pointercancel", (event) => onPointer(event, 3));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 0 ? 1 : WHEEL_PIXELS / 3;
    wheel.x += event.deltaX * unit;
    wheel.y += event.deltaY * unit;
    const notch = (mask) => {
      pointer(event, buttons | mask);
      pointer(event, buttons);
    };
    for (; wheel.y <= -WHEEL_PIXELS; wheel.y += WHEEL_PIXELS) notch(8);
    for (; wheel.y >= WHEEL_PIXELS; wheel.y -= WHEEL_PIXELS) notch(16);
    for (; wheel.x <= -WHEEL_PIXELS; wheel.x += WHEEL_PIXELS) notch(32);
    for (; wheel.x >= WHEEL_PIXELS; wheel.x -= WHEEL_PIXELS) notch(64);
  }, { passive: false });

  function keysym(event) {
    const named = KEYSYMS[event.key];
    if (named) return event.location === 2 && named >= 0xffe1 ? named + 1 : named;
    if (/^F([1-9]|1[0-2])$/.test(event.key)) return 0xffbd + Number(event.key.slice(1));
    const code = event.key.codePointAt(0);
    if (event.key.length !== String.fromCodePoint(code).length) return 0;
    return code < 256 ? code : 0x1000000 + code;
  }

  function key(symbol, isDown) {
    if (symbol) send([4, isDown ? 1 : 0, 0, 0, ...word(symbol)]);
  }

  const held = new Map();
  canvas.addEventListener("keydown", (event) => {
    // The text of a paste comes first: see the paste below.
    if (event.ctrlKey && event.key.toLowerCase() === "v") return;
    event.preventDefault();
    if (event.isComposing) return;
    const symbol = keysym(event);
    held.set(event.code, symbol);
    key(symbol, true);
  });
  canvas.addEventListener("keyup", (event) => {
    event.preventDefault();
    const symbol = held.get(event.code);
    held.delete(event.code);
    key(symbol, false);
  });
  canvas.addEventListener("blur", () => {
    held.forEach((symbol) => key(symbol, false));
    held.clear();
  });

  document.addEventListener("paste", (event) => {
    event.preventDefault();
    const text = new TextEncoder().encode(event.clipboardData.getData("text/plain"));
    if (text.length > CLIP_BYTES_MAX) {
      say("the text is too long for the clipboard");
      return;
    }
    send([6, 0, 0, 0, ...word(text.length), ...text]);
    key(CONTROL, true);
    key(0x76, true);
    key(0x76, false);
    key(CONTROL, false);
  });

  function fit() {
    const side = (it) => Math.max(SIDE_MIN, Math.min(SIDE_MAX, Math.floor(it)));
    const width = side(window.innerWidth);
    const height = side(window.innerHeight - BAR_PIXELS);
    if (width !== canvas.width || height !== canvas.height) {
      send([251, 0, ...half(width), ...half(height), 0, 0]);
    }
  }

  // Not while the window is still being drawn larger.
  let later = null;
  window.addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(fit, RESIZE_MILLIS);
  });

  function onClick(id, run) {
    document.getElementById(id).addEventListener("click", () => {
      run();
      canvas.focus();
    });
  }
  onClick("back", () => {
    key(BACK, true);
    key(BACK, false);
  });
  onClick("fit", fit);
  onClick("rotate", () => send([201, 0, 0, 0]));

  connect();
})();
