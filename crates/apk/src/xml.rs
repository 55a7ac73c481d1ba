// SPDX-License-Identifier: Apache-2.0
//! Binary XML: AndroidManifest.xml as aapt compiled it.
//!
//! [`Document::parse`] gives the elements in document order, each with its parent; text is not
//! kept, since manifests have none.

use std::sync::Arc;

use crate::chunk::{self, Chunk};
use crate::reader::Reader;
use crate::strings::{NO_STRING, StringPool};
use crate::{Error, Fault, Value};

/// The namespace of `android:` attributes.
pub const ANDROID: &str = "http://schemas.android.com/apk/res/android";

/// Open elements at once: manifests have five.
const DEPTH_MAX: usize = 64;

/// A parsed document.
#[derive(Debug)]
pub struct Document {
    elements: Vec<Element>,
}

/// One element.
#[derive(Debug)]
pub struct Element {
    /// Index of the element around it.
    pub parent: Option<usize>,
    /// Line in the source.
    pub line: u32,
    /// Offset of its chunk.
    pub offset: u64,
    /// Namespace of the tag; `android` elements have none.
    pub namespace: Option<Arc<str>>,
    /// Tag.
    pub name: Arc<str>,
    /// Attributes in file order.
    pub attributes: Vec<Attribute>,
}

/// One attribute.
#[derive(Debug)]
pub struct Attribute {
    /// Namespace, if any.
    pub namespace: Option<Arc<str>>,
    /// Name; may be empty where a tool stripped the names of attributes that have an id.
    pub name: Arc<str>,
    /// Resource id of the attribute's definition; 0 if it has none.
    pub id: u32,
    /// Its value.
    pub value: Value,
}

impl Document {
    /// Reads a whole document; `entry` names it in errors.
    pub fn parse(entry: &str, bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(entry, bytes);
        let root = Chunk::next(&mut reader)?.expect(chunk::XML, "binary XML document")?;
        let mut body = root.body;
        let mut strings = None;
        let mut ids = Vec::new();
        let mut builder = Builder::default();
        while !body.is_empty() {
            let next = Chunk::next(&mut body)?;
            match next.kind {
                chunk::STRING_POOL if strings.is_none() => strings = Some(StringPool::parse(next)?),
                chunk::XML_RESOURCE_MAP => {
                    let mut map = next.body;
                    ids.clear();
                    while map.remaining() >= 4 {
                        ids.push(map.u32("resource id")?);
                    }
                }
                chunk::XML_ELEMENT_START | chunk::XML_ELEMENT_END => {
                    let strings = strings
                        .as_ref()
                        .ok_or_else(|| next.whole.malformed("an element before the string pool"))?;
                    builder.element(&next, strings, &ids)?;
                }
                // Namespaces carry prefixes only; attributes name their namespace themselves.
                chunk::XML_NAMESPACE_START | chunk::XML_NAMESPACE_END | chunk::XML_TEXT => {}
                _ => {} // As Android: unknown chunks are for readers that know them.
            }
        }
        if !builder.open.is_empty() {
            return Err(body.malformed("the document ends inside an element"));
        }
        if builder.elements.is_empty() {
            return Err(body.malformed("the document has no element"));
        }
        Ok(Self {
            elements: builder.elements,
        })
    }

    /// All elements in document order.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// The first element.
    pub fn root(&self) -> &Element {
        &self.elements[0]
    }

    /// The elements directly inside the one with this index.
    pub fn children(&self, parent: usize) -> impl Iterator<Item = (usize, &Element)> {
        self.elements
            .iter()
            .enumerate()
            .skip(parent + 1)
            .take_while(move |(_, it)| it.parent.is_some_and(|it| it >= parent))
            .filter(move |(_, it)| it.parent == Some(parent))
    }
}

impl Element {
    /// An attribute of the `android:` namespace by the id of its definition.
    pub fn by_id(&self, id: u32) -> Option<&Value> {
        self.attributes
            .iter()
            .find(|it| it.id == id)
            .map(|it| &it.value)
    }

    /// An attribute by namespace and name.
    pub fn by_name(&self, namespace: Option<&str>, name: &str) -> Option<&Value> {
        self.attributes
            .iter()
            .find(|it| it.namespace.as_deref() == namespace && &*it.name == name)
            .map(|it| &it.value)
    }
}

#[derive(Default)]
struct Builder {
    elements: Vec<Element>,
    open: Vec<usize>,
}

impl Builder {
    fn element(
        &mut self,
        chunk: &Chunk<'_>,
        strings: &StringPool<'_>,
        ids: &[u32],
    ) -> Result<(), Error> {
        let mut header = chunk.header;
        let line = header.u32("line number")?;
        let mut body = chunk.body;
        if chunk.kind == chunk::XML_ELEMENT_END {
            body.u32("namespace")?;
            let name = strings.get(body.u32("element name")?)?;
            let opened = self.open.pop().map(|it| &self.elements[it].name);
            // A pool gives equal texts once: comparing long ones again and again would be
            // quadratic.
            if !opened.is_some_and(|it| Arc::ptr_eq(it, &name)) {
                let text = format!("</{name}> does not close the open element");
                return Err(chunk.whole.malformed(text));
            }
            return Ok(());
        }
        if self.open.len() >= DEPTH_MAX {
            let what = "depth of elements";
            let limit = DEPTH_MAX as u64;
            return Err(chunk.whole.fault(Fault::Limit {
                what,
                value: limit + 1,
                limit,
            }));
        }
        if self.open.is_empty() && !self.elements.is_empty() {
            return Err(chunk.whole.malformed("a second root element"));
        }
        let mut fixed = body;
        let namespace = strings.optional(fixed.u32("namespace")?)?;
        let name = strings.get(fixed.u32("element name")?)?;
        let start = usize::from(fixed.u16("attribute start")?);
        let size = usize::from(fixed.u16("attribute size")?);
        let count = usize::from(fixed.u16("attribute count")?);
        if count > 0 && size < 20 {
            return Err(fixed.malformed(format!("attributes of {size} bytes, 20 are needed")));
        }
        body.take(start, "attributes")?;
        let attributes = (0..count)
            .map(|_| attribute(body.part(size, "attribute")?, strings, ids))
            .collect::<Result<_, Error>>()?;
        let parent = self.open.last().copied();
        self.open.push(self.elements.len());
        let offset = chunk.whole.offset() as u64;
        self.elements.push(Element {
            parent,
            line,
            offset,
            namespace,
            name,
            attributes,
        });
        Ok(())
    }
}

fn attribute(
    mut from: Reader<'_>,
    strings: &StringPool<'_>,
    ids: &[u32],
) -> Result<Attribute, Error> {
    let namespace = strings.optional(from.u32("attribute namespace")?)?;
    let name = from.u32("attribute name")?;
    let raw = from.u32("attribute text")?;
    let id = ids.get(name as usize).copied().unwrap_or(0);
    let name = strings.get(name)?;
    let mut value = Value::parse(&mut from, strings)?;
    if value == Value::Null && raw != NO_STRING {
        value = Value::String(strings.get(raw)?);
    }
    Ok(Attribute {
        namespace,
        name,
        id,
        value,
    })
}
