// SPDX-License-Identifier: Apache-2.0
//! Layers: what lies under and over a window's own drawing, cut, stretched and gone with it.

use screen::{
    Change, Display, LayerId, LayerKind, Owner, Rect, Refusal, Screen, WindowId, WindowKind, Wish,
};

const DISPLAY: Display = Display {
    width: 4,
    height: 2,
    ..Display::PANEL
};
const CLEAR: [u8; 4] = [0; 4];
const GREY: [u8; 4] = [50, 50, 50, 255];
const WHITE: [u8; 4] = [255; 4];

/// A window as large as the display: its left half is clear, its right half white.
fn window(screen: &mut Screen) -> WindowId {
    let id = screen.add(WindowKind::Application, true).expect("a window");
    let whole = Wish {
        width: -1,
        height: -1,
        ..Wish::default()
    };
    screen.place(id, &whole, Rect::default()).expect("placed");
    screen.set_visible(id, true, 1).expect("shown");
    let pixels = [CLEAR, CLEAR, WHITE, WHITE].repeat(2);
    screen
        .post(id, (4, 2), pixels.as_flattened())
        .expect("drawn");
    id
}

/// A container at a place, with pixels of one colour in it.
fn surface(screen: &mut Screen, window: WindowId, order: i32) -> (LayerId, LayerId) {
    let container = screen.add_layer(LayerKind::Container, Owner::Window(window));
    let container = container.expect("a container");
    let over = Change::Over(window, order);
    screen.change_layer(container, over).expect("ordered");
    let pixels = screen.add_layer(LayerKind::Pixels, Owner::Layer(container));
    let pixels = pixels.expect("a layer");
    let drawn = GREY.repeat(2);
    screen.post_layer(pixels, (2, 1), &drawn).expect("drawn");
    (container, pixels)
}

/// The reds of the display, row by row.
fn reds(screen: &Screen) -> [[u8; 4]; 2] {
    let picture = screen.compose();
    let red = |index: usize| picture.bytes()[index * 3];
    [[0, 1, 2, 3], [4, 5, 6, 7]].map(|row| row.map(red))
}

#[test]
fn what_lies_below_is_seen_through_the_window_alone() {
    let mut screen = Screen::new(DISPLAY);
    let window = window(&mut screen);
    let (container, _) = surface(&mut screen, window, -2);
    let moved = Change::Position(1.0, 1.0);
    screen.change_layer(container, moved).expect("moved");
    assert_eq!(reds(&screen), [[0, 0, 255, 255], [0, 50, 255, 255]]);
    screen
        .change_layer(container, Change::Over(window, 1))
        .expect("raised");
    assert_eq!(reds(&screen), [[0, 0, 255, 255], [0, 50, 50, 255]]);
}

#[test]
fn a_layer_is_stretched_cut_and_hidden_with_its_owner() {
    let mut screen = Screen::new(DISPLAY);
    let window = window(&mut screen);
    let (container, _) = surface(&mut screen, window, 1);
    screen
        .change_layer(container, Change::Scale(2.0, 2.0))
        .expect("stretched");
    assert_eq!(reds(&screen), [[50; 4], [50; 4]]);
    let crop = Change::Crop(Rect::new(0, 0, 1, 1));
    screen.change_layer(container, crop).expect("cut");
    assert_eq!(reds(&screen), [[50, 50, 255, 255], [50, 50, 255, 255]]);
    let color = screen.add_layer(LayerKind::Color, Owner::Layer(container));
    let color = color.expect("a colour");
    screen
        .change_layer(color, Change::Color([1.0, 0.0, 0.0]))
        .expect("red");
    assert_eq!(reds(&screen), [[255; 4], [255; 4]], "the crop cuts it too");
    screen
        .change_layer(color, Change::Order(-1))
        .expect("lowered");
    assert_eq!(reds(&screen), [[50, 50, 255, 255], [50, 50, 255, 255]]);
    screen
        .change_layer(container, Change::Visible(false))
        .expect("hidden");
    assert_eq!(reds(&screen), [[0, 0, 255, 255], [0, 0, 255, 255]]);
}

#[test]
fn layers_go_with_whom_they_belong_to() {
    let mut screen = Screen::new(DISPLAY);
    let window = window(&mut screen);
    let (container, pixels) = surface(&mut screen, window, 1);
    let to_itself = Change::Owner(Owner::Layer(pixels));
    assert_eq!(
        screen.change_layer(container, to_itself),
        Err(Refusal::NoLayer)
    );
    screen.remove_layer(container);
    assert!(!screen.has_layer(container) && !screen.has_layer(pixels));
    let gone = screen.post_layer(pixels, (2, 1), &GREY.repeat(2));
    assert_eq!(gone, Err(Refusal::NoLayer));
    let (_, pixels) = surface(&mut screen, window, 1);
    screen.remove(window, 2).expect("removed");
    assert!(!screen.has_layer(pixels));
    let orphan = screen.add_layer(LayerKind::Color, Owner::Window(window));
    assert_eq!(orphan, Err(Refusal::NoWindow));
}
