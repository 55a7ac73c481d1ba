// SPDX-License-Identifier: Apache-2.0

import java.util.Random;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.LowerCaseFilter;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Lucene: an index of made-up documents, and queries whose scores must agree. */
public class Search {
    private static final String[] WORDS = {
        "robot", "arm", "motor", "deadline", "sensor", "valve", "control", "loop", "latency", "Jitter", "queue", "lock"
    };

    public static void main(String[] args) throws Exception {
        Analyzer analyzer = new Analyzer() {
            @Override
            protected TokenStreamComponents createComponents(String field) {
                StandardTokenizer tokenizer = new StandardTokenizer();
                return new TokenStreamComponents(tokenizer, new LowerCaseFilter(tokenizer));
            }
        };
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        Random random = new Random(7);
        IndexWriterConfig config = new IndexWriterConfig(analyzer).setMergeScheduler(new SerialMergeScheduler());
        try (IndexWriter writer = new IndexWriter(directory, config.setMaxBufferedDocs(100))) {
            for (int i = 0; i < 600; i++) {
                StringBuilder text = new StringBuilder();
                for (int word = random.nextInt(30) + 3; word > 0; word--) {
                    text.append(WORDS[random.nextInt(WORDS.length)]).append(word % 5 == 0 ? ". " : " ");
                }
                Document document = new Document();
                document.add(new TextField("text", text.toString(), Field.Store.YES));
                document.add(new IntPoint("size", text.length()));
                document.add(new StoredField("number", i));
                writer.addDocument(document);
            }
            writer.deleteDocuments(IntPoint.newRangeQuery("size", 0, 40));
            writer.forceMerge(1);
        }
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            System.out.println(reader.numDocs() + " documents");
            show(searcher, new TermQuery(new Term("text", "jitter")));
            show(searcher, new PhraseQuery(1, "text", "control", "loop"));
            show(searcher, new BooleanQuery.Builder()
                .add(new TermQuery(new Term("text", "deadline")), Occur.MUST)
                .add(new TermQuery(new Term("text", "valve")), Occur.MUST_NOT)
                .add(IntPoint.newRangeQuery("size", 60, 90), Occur.FILTER).build());
        }
    }

    private static void show(IndexSearcher searcher, Query query) throws Exception {
        var top = searcher.search(query, 3);
        System.out.println(query + ": " + top.totalHits);
        for (ScoreDoc hit : top.scoreDocs) {
            Document document = searcher.storedFields().document(hit.doc);
            System.out.println("  " + document.get("number") + " " + hit.score + " " + document.get("text"));
        }
    }
}
