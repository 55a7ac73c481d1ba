// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.content.res.Configuration;
import android.icu.text.Collator;
import android.icu.text.MeasureFormat;
import android.icu.text.NumberFormat;
import android.icu.text.PluralRules;
import android.icu.text.Transliterator;
import android.icu.util.Currency;
import android.icu.util.Measure;
import android.icu.util.MeasureUnit;
import android.icu.util.ULocale;
import android.os.LocaleList;
import android.sax.RootElement;
import android.text.BidiFormatter;
import android.text.TextUtils;
import android.text.format.DateFormat;
import android.text.format.Formatter;
import android.util.Xml;
import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import org.xml.sax.Attributes;
import org.xml.sax.SAXParseException;
import org.xml.sax.helpers.DefaultHandler;
import org.xmlpull.v1.XmlPullParser;
import org.xmlpull.v1.XmlSerializer;

/** Languages, and texts in XML. */
public final class Words extends Day {
    private static final String TEXT = "<?xml version='1.0'?><!DOCTYPE list [<!ENTITY own 'mine'>]>"
            + "<list xmlns:a='urn:a'><item a:key='1 &lt;' b='2'>Ä&amp;&own;</item><!-- no --><item/></list>";

    @Override
    void day() {
        locales();
        icu();
        pulled();
        told();
    }

    private void locales() {
        say("locale", () -> Locale.getDefault() + " " + getResources().getConfiguration().getLocales() + " "
                + LocaleList.getDefault() + " " + ULocale.getDefault());
        say("of assets", () -> {
            String[] locales = getAssets().getLocales();
            return locales.length + " " + getAssets().getNonSystemLocales().length;
        });
        say("of resources", () -> Arrays.asList(
                android.content.res.Resources.getSystem().getAssets().getLocales()).contains("de"));
        say("german", () -> {
            Configuration german = new Configuration(getResources().getConfiguration());
            german.setLocale(Locale.GERMANY);
            return createConfigurationContext(german).getString(android.R.string.cancel) + " "
                    + getString(android.R.string.cancel);
        });
        say("likely", () -> ULocale.addLikelySubtags(new ULocale("zh-TW")) + " "
                + TextUtils.getLayoutDirectionFromLocale(Locale.forLanguageTag("ar")));
        say("matched", () -> new LocaleList(Locale.CANADA_FRENCH, Locale.US)
                .getFirstMatch(new String[] {"en", "fr-FR"}));
        say("bidi", () -> BidiFormatter.getInstance(true).unicodeWrap("abc").length());
    }

    private void icu() {
        say("pattern", () -> DateFormat.getBestDateTimePattern(Locale.GERMANY, "yMMMd") + " "
                + DateFormat.getBestDateTimePattern(Locale.US, "yMMMd"));
        say("number", () -> NumberFormat.getInstance(ULocale.GERMANY).format(1234.5) + " "
                + NumberFormat.getCurrencyInstance(ULocale.US).format(-3));
        say("plural", () -> PluralRules.forLocale(ULocale.forLanguageTag("pl")).select(3));
        say("sorted", () -> Collator.getInstance(ULocale.forLanguageTag("sv")).compare("ö", "z"));
        say("latin", () -> Transliterator.getInstance("Cyrillic-Latin").transliterate("Москва"));
        say("currency", () -> Currency.getInstance("EUR").getSymbol(ULocale.FRANCE));
        say("measure", () -> MeasureFormat.getInstance(ULocale.US, MeasureFormat.FormatWidth.WIDE)
                .format(new Measure(2, MeasureUnit.HOUR)));
        say("size", () -> Formatter.formatFileSize(this, 1_500_000));
        say("icu date", () -> {
            android.icu.text.SimpleDateFormat format =
                    new android.icu.text.SimpleDateFormat("EEEE d MMMM", Locale.FRANCE);
            format.setTimeZone(android.icu.util.TimeZone.GMT_ZONE);
            return format.format(0L);
        });
    }

    private void pulled() {
        say("pulled", () -> {
            XmlPullParser parser = Xml.newPullParser();
            parser.setInput(new StringReader("<list><item key='1'>text</item></list>"));
            StringBuilder events = new StringBuilder();
            while (parser.next() != XmlPullParser.END_DOCUMENT) {
                events.append(parser.getEventType()).append(parser.getName()).append(' ');
            }
            return events;
        });
        say("written", () -> {
            StringWriter out = new StringWriter();
            XmlSerializer serializer = Xml.newSerializer();
            serializer.setOutput(out);
            serializer.startTag(null, "list").attribute(null, "key", "<\"").text("&").endTag(null, "list").flush();
            return out;
        });
    }

    /** Who is told of each part of a document, by Expat on Android. */
    private void told() {
        StringBuilder told = new StringBuilder();
        DefaultHandler handler = new DefaultHandler() {
            @Override
            public void startElement(String uri, String local, String name, Attributes attributes) {
                told.append('<').append(local);
                for (int index = 0; index < attributes.getLength(); index++) {
                    told.append(' ').append(attributes.getURI(index)).append(':')
                            .append(attributes.getLocalName(index)).append('=').append(attributes.getValue(index));
                }
                told.append('>');
            }

            @Override
            public void characters(char[] text, int start, int length) {
                told.append(text, start, length);
            }

            @Override
            public void endElement(String uri, String local, String name) {
                told.append("</").append(local).append('>');
            }
        };
        say("told", () -> {
            Xml.parse(TEXT, handler);
            return told;
        });
        say("bytes", () -> {
            told.setLength(0);
            byte[] bytes = "<a>Ä</a>".getBytes(StandardCharsets.ISO_8859_1);
            Xml.parse(new ByteArrayInputStream(bytes), Xml.Encoding.ISO_8859_1, handler);
            return told;
        });
        say("unfinished", () -> {
            try {
                Xml.parse("<a>\n<b></a>", handler);
                return "parsed";
            } catch (SAXParseException e) {
                return "refused in line " + e.getLineNumber();
            }
        });
        say("outside", () -> {
            told.setLength(0);
            Xml.parse("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>-&x;-</a>", handler);
            return told;
        });
        say("elements", () -> {
            RootElement root = new RootElement("list");
            StringBuilder items = new StringBuilder();
            root.getChild("item").setEndTextElementListener(it -> items.append(it).append(';'));
            Xml.parse("<list><item>one</item><item>two</item></list>", root.getContentHandler());
            return items;
        });
    }
}
