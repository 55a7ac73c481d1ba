// SPDX-License-Identifier: Apache-2.0
//! The state machine: who lies above whom, who has the focus, where touches go, what is seen.

use screen::{
    ChannelId, Display, FingerId, Input, Picture, Rect, Refusal, Screen, Touch, WindowId,
    WindowKind, Wish,
};

const DISPLAY: Display = Display {
    width: 8,
    height: 4,
    ..Display::PANEL
};
const MATCH_PARENT: i32 = -1;
const TOP_LEFT: u32 = 0x33;
const DIM_BEHIND: u32 = 0x2;
const NOT_FOCUSABLE: u32 = 0x8;
const NOT_TOUCHABLE: u32 = 0x10;
const NOT_TOUCH_MODAL: u32 = 0x20;
const WATCH_OUTSIDE: u32 = 0x4_0000;

fn shown(screen: &mut Screen, kind: WindowKind, wish: &Wish) -> WindowId {
    let id = screen.add(kind, true).expect("a window");
    screen.place(id, wish, Rect::default()).expect("placed");
    screen.set_visible(id, true, 1).expect("shown");
    id
}

fn whole() -> Wish {
    Wish {
        width: MATCH_PARENT,
        height: MATCH_PARENT,
        ..Wish::default()
    }
}

/// Two by two at a place, modal unless the flags say otherwise.
fn small(x: i32, y: i32, flags: u32) -> Wish {
    Wish {
        width: 2,
        height: 2,
        measured_width: 2,
        measured_height: 2,
        x,
        y,
        gravity: TOP_LEFT,
        flags,
        ..Wish::default()
    }
}

fn channel(screen: &Screen, id: WindowId) -> ChannelId {
    screen.channel_of(id).expect("a channel")
}

/// What waits for a window, all of it finished.
fn drain(screen: &mut Screen, id: WindowId) -> Vec<Input> {
    let channel = channel(screen, id);
    let mut reader = screen.open_reader(channel).expect("nobody reads it");
    let mut inputs = Vec::new();
    while let Some(taken) = reader.take().expect("as it was sent") {
        reader.finish(taken.message.sequence);
        inputs.push(taken.message.input);
        if taken.tells {
            screen.hear(channel);
        }
    }
    screen.give_back(reader);
    inputs
}

/// With red, green, blue and alpha.
fn fill(screen: &mut Screen, id: WindowId, [red, green, blue, alpha]: [u8; 4]) {
    let pixel = [blue, green, red, alpha];
    let size = screen.surface_size(id).expect("a size");
    let count = (size.0 * size.1) as usize;
    screen.post(id, size, &pixel.repeat(count)).expect("posted");
}

fn pixel(picture: &Picture, x: usize, y: usize) -> [u8; 3] {
    let at = (y * picture.size().0 as usize + x) * 3;
    picture.bytes()[at..at + 3].try_into().expect("three")
}

#[test]
fn the_focus_goes_to_the_highest_that_can_have_it_and_comes_back() {
    let mut screen = Screen::new(DISPLAY);
    let activity = shown(&mut screen, WindowKind::Application, &whole());
    assert_eq!(screen.focus(), Some(activity));
    let toast = shown(&mut screen, WindowKind::System, &small(0, 0, NOT_FOCUSABLE));
    assert_eq!(screen.focus(), Some(activity), "a toast takes no focus");
    let dialog = shown(&mut screen, WindowKind::Application, &small(1, 1, 0));
    assert_eq!(screen.focus(), Some(dialog));
    assert_eq!(drain(&mut screen, dialog), [Input::Focus(true)]);
    let both = [Input::Focus(true), Input::Focus(false)];
    assert_eq!(drain(&mut screen, activity), both);
    screen.key(4, 0, true, 9).expect("a key");
    assert!(matches!(
        drain(&mut screen, dialog)[..],
        [Input::Key { code: 4, .. }]
    ));
    screen.remove(dialog, 10).expect("gone");
    assert_eq!(screen.focus(), Some(activity));
    assert_eq!(drain(&mut screen, activity), [Input::Focus(true)]);
    assert!(drain(&mut screen, toast).is_empty());
}

#[test]
fn a_gesture_belongs_to_the_window_that_it_began_in() {
    let mut screen = Screen::new(DISPLAY);
    let below = shown(&mut screen, WindowKind::Application, &whole());
    let flags = NOT_TOUCH_MODAL | WATCH_OUTSIDE;
    let panel = shown(&mut screen, WindowKind::Panel(below), &small(4, 1, flags));
    let flags = NOT_TOUCHABLE | NOT_FOCUSABLE;
    let glass = shown(&mut screen, WindowKind::System, &small(0, 0, flags));
    assert_eq!(screen.touch(Touch::Up, 0.0, 0.0, 5), Err(Refusal::NoTarget));
    assert_eq!(screen.touch(Touch::Down, 5.0, 1.5, 6), Ok(panel));
    assert_eq!(screen.touch(Touch::Move, 0.0, 0.0, 7), Ok(panel));
    assert_eq!(screen.touch(Touch::Up, 0.0, 0.0, 8), Ok(panel));
    drain(&mut screen, below);
    let inputs = drain(&mut screen, panel);
    let places: Vec<(f32, f32)> = inputs
        .iter()
        .filter_map(|it| match it {
            Input::Touch {
                pointers, corner, ..
            } => {
                let first = pointers.as_slice()[0];
                Some((first.x - corner.0, first.y - corner.1))
            }
            _ => None,
        })
        .collect();
    assert_eq!(places, [(1.0, 0.5), (-4.0, -1.0), (-4.0, -1.0)]);
    assert_eq!(screen.touch(Touch::Down, 0.0, 0.0, 9), Ok(below));
    let watched = drain(&mut screen, panel);
    let is_outside = |it: &Input| {
        matches!(
            it,
            Input::Touch {
                touch: Touch::Outside,
                ..
            }
        )
    };
    assert!(
        watched.iter().all(is_outside) && watched.len() == 1,
        "{watched:?}"
    );
    assert!(drain(&mut screen, glass).is_empty());
}

/// What happened to which finger, and where all of them are.
type Heard = (Touch, u8, Vec<(u8, f32)>);

/// What a window hears of fingers: what is done, which one does it, and all with their places.
fn heard(screen: &mut Screen, id: WindowId) -> Vec<Heard> {
    let inputs = drain(screen, id).into_iter();
    let touches = inputs.filter_map(|it| match it {
        Input::Touch {
            touch,
            index,
            pointers,
            ..
        } => {
            let all = pointers.as_slice().iter().map(|it| (it.id, it.x));
            Some((touch, index, all.collect()))
        }
        _ => None,
    });
    touches.collect()
}

#[test]
fn several_fingers_are_one_gesture() {
    let mut screen = Screen::new(DISPLAY);
    let window = shown(&mut screen, WindowKind::Application, &whole());
    let [first, second, third] = [7, 8, 9].map(FingerId);
    let mut done = |finger, touch, x| screen.finger(finger, touch, (x, 1.0), 5).is_ok();
    assert!(done(first, Touch::Down, 1.0) && done(second, Touch::Down, 2.0));
    assert!(done(second, Touch::Move, 3.0) && done(first, Touch::Up, 1.0));
    assert!(!done(first, Touch::Move, 1.0), "it is up");
    assert!(
        done(third, Touch::Down, 4.0),
        "it gets the number that is free"
    );
    assert!(done(second, Touch::Up, 3.0) && done(third, Touch::Up, 5.0));
    let expected = [
        (Touch::Down, 0, vec![(0, 1.0)]),
        (Touch::PointerDown, 1, vec![(0, 1.0), (1, 2.0)]),
        (Touch::Move, 1, vec![(0, 1.0), (1, 3.0)]),
        (Touch::PointerUp, 0, vec![(0, 1.0), (1, 3.0)]),
        (Touch::PointerDown, 0, vec![(0, 4.0), (1, 3.0)]),
        (Touch::PointerUp, 1, vec![(0, 4.0), (1, 3.0)]),
        (Touch::Up, 0, vec![(0, 5.0)]),
    ];
    assert_eq!(heard(&mut screen, window), expected);
}

#[test]
fn fingers_are_bounded_and_end_together() {
    let mut screen = Screen::new(DISPLAY);
    let window = shown(&mut screen, WindowKind::Application, &whole());
    for finger in 0..10 {
        let down = screen.finger(FingerId(finger), Touch::Down, (0.0, 0.0), 5);
        assert_eq!(down, Ok(window));
    }
    let more = screen.finger(FingerId(10), Touch::Down, (0.0, 0.0), 5);
    assert_eq!(more, Err(Refusal::TooManyFingers));
    screen.resize(4, 8, 6).expect("another size");
    assert_eq!(
        heard(&mut screen, window).last().map(|it| it.0),
        Some(Touch::Cancel)
    );
    let gone = screen.finger(FingerId(1), Touch::Up, (0.0, 0.0), 7);
    assert_eq!(gone, Err(Refusal::NoTarget));
    assert_eq!(screen.resize(0, 8, 6), Err(Refusal::Size));
}

#[test]
fn a_full_channel_keeps_the_order_and_the_latest_move() {
    let mut screen = Screen::new(DISPLAY);
    let window = shown(&mut screen, WindowKind::Application, &whole());
    screen.touch(Touch::Down, 0.0, 0.0, 5).expect("down");
    for x in 0..400 {
        screen.touch(Touch::Move, x as f32, 0.0, 6).expect("moved");
    }
    screen.touch(Touch::Up, 0.0, 0.0, 7).expect("an end");
    let mut all = heard(&mut screen, window);
    assert_eq!(all.pop().map(|it| it.0), Some(Touch::Up));
    let places: Vec<f32> = all[1..].iter().map(|it| it.2[0].1).collect();
    assert!(
        places.is_sorted() && places.last() == Some(&399.0),
        "{places:?}"
    );
}

#[test]
fn a_wheel_goes_to_the_window_below_it() {
    let mut screen = Screen::new(DISPLAY);
    let window = shown(&mut screen, WindowKind::Application, &whole());
    drain(&mut screen, window);
    let before = screen.revision();
    assert_eq!(screen.scroll((3.0, 1.0), (0.0, -1.0), 5), Ok(window));
    let expected = Input::Scroll {
        place: (3.0, 1.0),
        corner: (0.0, 0.0),
        right: 0.0,
        up: -1.0,
    };
    assert_eq!(drain(&mut screen, window), [expected]);
    assert_eq!(screen.revision(), before, "input changes no picture");
    fill(&mut screen, window, [1, 2, 3, 255]);
    assert_ne!(screen.revision(), before);
}

#[test]
fn what_is_seen_is_what_lies_above() {
    let mut screen = Screen::new(DISPLAY);
    let activity = shown(&mut screen, WindowKind::Application, &whole());
    fill(&mut screen, activity, [200, 100, 50, 255]);
    let dialog = shown(
        &mut screen,
        WindowKind::Application,
        &small(2, 1, DIM_BEHIND),
    );
    screen.shade(dialog, 1.0, 0.5).expect("shaded");
    fill(&mut screen, dialog, [9, 9, 9, 255]);
    let picture = screen.compose();
    assert_eq!(pixel(&picture, 2, 1), [9, 9, 9]);
    assert_eq!(pixel(&picture, 3, 2), [9, 9, 9]);
    assert_eq!(pixel(&picture, 0, 0), [100, 50, 25], "half as bright");
    screen.set_visible(dialog, false, 3).expect("hidden");
    assert_eq!(pixel(&screen.compose(), 2, 1), [200, 100, 50]);
    let clear = [0, 0, 0, 0];
    fill(&mut screen, activity, clear);
    screen.set_opaque(activity, true).expect("opaque");
    assert_eq!(pixel(&screen.compose(), 0, 0), [0, 0, 0]);
}

#[test]
fn a_panel_lies_right_above_its_window_and_goes_with_it() {
    let mut screen = Screen::new(DISPLAY);
    let first = shown(&mut screen, WindowKind::Application, &whole());
    let second = shown(&mut screen, WindowKind::Application, &whole());
    let panel = shown(&mut screen, WindowKind::Panel(first), &whole());
    for (id, pixel) in [(first, 1), (second, 2), (panel, 3)] {
        fill(&mut screen, id, [pixel, 0, 0, 255]);
    }
    assert_eq!(pixel(&screen.compose(), 0, 0)[0], 2, "below the second");
    screen.remove(second, 2).expect("gone");
    assert_eq!(pixel(&screen.compose(), 0, 0)[0], 3);
    screen.remove(first, 3).expect("gone");
    assert_eq!(screen.remove(panel, 4), Err(Refusal::NoWindow));
    assert_eq!(screen.focus(), None);
    assert_eq!(screen.key(4, 0, true, 5), Err(Refusal::NoFocus));
    let orphan = screen.add(WindowKind::Panel(first), true);
    assert_eq!(orphan, Err(Refusal::NoWindow));
}

#[test]
fn input_that_is_not_finished_is_overdue() {
    let mut screen = Screen::new(DISPLAY);
    let activity = shown(&mut screen, WindowKind::Application, &whole());
    fill(&mut screen, activity, [0; 4]);
    drain(&mut screen, activity);
    while screen.next_told().is_some() {}
    assert!(screen.is_quiet());
    screen.key(4, 0, true, 100).expect("a key");
    let id = channel(&screen, activity);
    assert_eq!(screen.next_told(), Some(id));
    screen.key(4, 0, false, 101).expect("a key");
    assert_eq!(screen.next_told(), None, "its looper is awake already");
    let mut reader = screen.open_reader(id).expect("nobody reads it");
    assert!(screen.open_reader(id).is_none(), "one reader");
    for at_ns in [100, 101] {
        let message = reader.take().expect("as sent").expect("a message").message;
        assert!(!screen.is_quiet());
        assert_eq!(screen.overdue(at_ns), None);
        assert_eq!(screen.overdue(at_ns + 1), Some(activity));
        reader.finish(message.sequence);
    }
    assert!(screen.is_quiet());
    assert_eq!(screen.overdue(u64::MAX), None);
}

/// Whatever is done: never more than one has the focus, and it is the highest that can have it;
/// what is named and gone is refused; nothing panics.
#[test]
fn random_calls_keep_the_rules() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut screen = Screen::new(DISPLAY);
        let mut all: Vec<WindowId> = Vec::new();
        for now_ns in 0..200 {
            let any = |random: &mut fastrand::Rng| match all.is_empty() {
                true => WindowId(77),
                false => all[random.usize(..all.len())],
            };
            let id = any(&mut random);
            match random.u8(..8) {
                0 => {
                    let kind = [
                        WindowKind::Application,
                        WindowKind::System,
                        WindowKind::Panel(id),
                        WindowKind::Media(id),
                    ][random.usize(..4)];
                    all.extend(screen.add(kind, random.bool()));
                }
                1 => {
                    let flags = random.u32(..) & 0x4_003a;
                    let wish = small(random.i32(-5..12), random.i32(-5..9), flags);
                    let _ = screen.place(id, &wish, Rect::new(0, 0, 0, random.i32(0..2)));
                }
                2 => drop(screen.set_visible(id, random.bool(), now_ns)),
                3 => drop(screen.remove(id, now_ns)),
                4 => {
                    let touch = [Touch::Down, Touch::Move, Touch::Up][random.usize(..3)];
                    let place = (random.f32() * 10.0 - 1.0, random.f32() * 6.0 - 1.0);
                    let finger = FingerId(random.u32(..12));
                    let _ = screen.finger(finger, touch, place, now_ns);
                }
                5 => drop(screen.key(random.i32(..), 0, random.bool(), now_ns)),
                6 => {
                    if let Ok(size) = screen.surface_size(id) {
                        let bytes = vec![random.u8(..); (size.0 * size.1 * 4) as usize];
                        let _ = screen.post(id, size, &bytes);
                    }
                }
                _ => {
                    if let Some(channel) = screen.next_told()
                        && let Some(mut reader) = screen.open_reader(channel)
                    {
                        if let Ok(Some(taken)) = reader.take() {
                            reader.finish(taken.message.sequence);
                        }
                        screen.give_back(reader);
                    }
                }
            }
            let focus = screen.focus();
            assert!(
                focus.is_none_or(|it| screen.surface_size(it).is_ok()),
                "seed {seed}"
            );
        }
        assert_eq!(screen.compose().size(), (8, 4), "seed {seed}");
    }
}
