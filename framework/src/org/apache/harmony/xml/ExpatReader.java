// SPDX-License-Identifier: Apache-2.0
package org.apache.harmony.xml;

import java.io.IOException;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.parsers.SAXParserFactory;
import org.xml.sax.ContentHandler;
import org.xml.sax.DTDHandler;
import org.xml.sax.EntityResolver;
import org.xml.sax.ErrorHandler;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;
import org.xml.sax.SAXNotRecognizedException;
import org.xml.sax.SAXNotSupportedException;
import org.xml.sax.SAXParseException;
import org.xml.sax.XMLReader;
import org.xml.sax.ext.LexicalHandler;
import org.xml.sax.helpers.DefaultHandler;

/**
 * What android.util.Xml reads documents with, in front of AOSP's on the class path. That one is
 * written over the library Expat. This one has the JDK's parser and the same rules:
 *
 * <ul>
 *   <li>no validation, no DTD from elsewhere;
 *   <li>what lies outside the document is passed over, unless a resolver was given;
 *   <li>a document that is not well-formed ends in SAXParseException, no matter who handles errors.
 * </ul>
 */
public class ExpatReader implements XMLReader {
    private static final String FEATURES = "http://xml.org/sax/features/";
    private static final String NAMESPACES = FEATURES + "namespaces";
    private static final String PREFIXES = FEATURES + "namespace-prefixes";
    private static final String VALIDATION = FEATURES + "validation";
    private static final String INTERNING = FEATURES + "string-interning";
    private static final String GENERAL = FEATURES + "external-general-entities";
    private static final String PARAMETER = FEATURES + "external-parameter-entities";
    private static final String DTD = "http://apache.org/xml/features/nonvalidating/load-external-dtd";
    private static final String LEXICAL = "http://xml.org/sax/properties/lexical-handler";

    private ContentHandler contentHandler;
    private DTDHandler dtdHandler;
    private EntityResolver entityResolver;
    private ErrorHandler errorHandler;
    private LexicalHandler lexicalHandler;
    private boolean hasNamespaces = true;
    private boolean hasPrefixes;

    @Override
    public boolean getFeature(String name) throws SAXNotRecognizedException {
        return switch (known(name)) {
            case NAMESPACES -> hasNamespaces;
            case PREFIXES -> hasPrefixes;
            case INTERNING -> true;
            default -> false;
        };
    }

    @Override
    public void setFeature(String name, boolean isOn) throws SAXNotRecognizedException, SAXNotSupportedException {
        switch (known(name)) {
            case NAMESPACES -> hasNamespaces = isOn;
            case PREFIXES -> hasPrefixes = isOn;
            default -> {
                if (isOn != getFeature(name)) {
                    throw new SAXNotSupportedException("Cannot change " + name);
                }
            }
        }
    }

    private static String known(String name) throws SAXNotRecognizedException {
        return switch (String.valueOf(name)) {
            case NAMESPACES, PREFIXES, VALIDATION, INTERNING, GENERAL, PARAMETER -> name;
            default -> throw new SAXNotRecognizedException(name);
        };
    }

    @Override
    public Object getProperty(String name) throws SAXNotRecognizedException {
        if (!LEXICAL.equals(name)) {
            throw new SAXNotRecognizedException(name);
        }
        return lexicalHandler;
    }

    @Override
    public void setProperty(String name, Object value) throws SAXNotRecognizedException, SAXNotSupportedException {
        if (!LEXICAL.equals(name)) {
            throw new SAXNotRecognizedException(name);
        }
        if (value != null && !(value instanceof LexicalHandler)) {
            throw new SAXNotSupportedException("value doesn't implement org.xml.sax.ext.LexicalHandler");
        }
        lexicalHandler = (LexicalHandler) value;
    }

    @Override
    public void setEntityResolver(EntityResolver resolver) {
        entityResolver = resolver;
    }

    @Override
    public EntityResolver getEntityResolver() {
        return entityResolver;
    }

    @Override
    public void setDTDHandler(DTDHandler handler) {
        dtdHandler = handler;
    }

    @Override
    public DTDHandler getDTDHandler() {
        return dtdHandler;
    }

    @Override
    public void setContentHandler(ContentHandler handler) {
        contentHandler = handler;
    }

    @Override
    public ContentHandler getContentHandler() {
        return contentHandler;
    }

    /** It is kept and, as on Android, not called. */
    @Override
    public void setErrorHandler(ErrorHandler handler) {
        errorHandler = handler;
    }

    @Override
    public ErrorHandler getErrorHandler() {
        return errorHandler;
    }

    /** Who hears of comments and the like. */
    public LexicalHandler getLexicalHandler() {
        return lexicalHandler;
    }

    /** See {@link #getLexicalHandler}. */
    public void setLexicalHandler(LexicalHandler handler) {
        lexicalHandler = handler;
    }

    /** Are names told by the URI of their namespace? */
    public boolean isNamespaceProcessingEnabled() {
        return hasNamespaces;
    }

    /** See {@link #isNamespaceProcessingEnabled}. */
    public void setNamespaceProcessingEnabled(boolean isOn) {
        hasNamespaces = isOn;
    }

    @Override
    public void parse(String systemId) throws IOException, SAXException {
        parse(new InputSource(systemId));
    }

    @Override
    public void parse(InputSource input) throws IOException, SAXException {
        if (hasNamespaces && hasPrefixes) {
            throw new SAXNotSupportedException("The 'namespace-prefix' feature is not supported while the 'namespaces'"
                    + " feature is enabled.");
        }
        if (input.getCharacterStream() == null && input.getByteStream() == null && input.getSystemId() == null) {
            throw new SAXException("No input specified.");
        }
        XMLReader reader = reader();
        reader.setContentHandler(contentHandler);
        reader.setDTDHandler(dtdHandler);
        reader.setProperty(LEXICAL, lexicalHandler);
        reader.setErrorHandler(new Ends());
        reader.parse(input);
    }

    private XMLReader reader() throws SAXException {
        SAXParserFactory factory = SAXParserFactory.newDefaultInstance();
        factory.setNamespaceAware(hasNamespaces);
        try {
            XMLReader reader = factory.newSAXParser().getXMLReader();
            reader.setFeature(DTD, false);
            reader.setFeature(PARAMETER, false);
            reader.setFeature(GENERAL, entityResolver != null);
            reader.setEntityResolver(entityResolver);
            return reader;
        } catch (ParserConfigurationException e) {
            throw new SAXException(e);
        }
    }

    /** Only what ends the document is an error. */
    private static final class Ends extends DefaultHandler {
        @Override
        public void fatalError(SAXParseException e) throws SAXException {
            throw e;
        }
    }
}
