// SPDX-License-Identifier: Apache-2.0
//! [`PictureFile`]: a display's pictures as a PNG.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use super::BackEnd;
use crate::geometry::Rect;
use crate::picture::Picture;

/// Why a picture is not shown.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The file cannot be written.
    #[error("cannot write {}: {fault}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        fault: String,
    },
}

/// A PNG, written anew each time.
#[derive(Debug)]
pub struct PictureFile {
    path: PathBuf,
}

impl PictureFile {
    /// Writes here.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn write(&self, picture: &Picture) -> Result<(), png::EncodingError> {
        let file = BufWriter::new(File::create(&self.path)?);
        let (width, height) = picture.size();
        let mut encoder = png::Encoder::new(file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(picture.bytes())?;
        writer.finish()
    }
}

impl BackEnd for PictureFile {
    fn show(&mut self, picture: &Picture, _: Rect) -> Result<(), Fault> {
        self.write(picture).map_err(|fault| Fault::File {
            path: self.path.clone(),
            fault: fault.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_a_png_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let picture = Picture::black(3, 2);
        let mut file = PictureFile::new(path.clone());
        file.show(&picture, Rect::of_size(3, 2)).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(File::open(&path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (3, 2));
        assert_eq!(bytes, picture.bytes());
        let mut nowhere = PictureFile::new(folder.path().join("no/a.png"));
        let fault = nowhere.show(&picture, Rect::default()).unwrap_err();
        assert!(fault.to_string().contains("no/a.png"), "{fault}");
    }
}
