// SPDX-License-Identifier: Apache-2.0
package org.example.panel;

import android.app.Activity;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import android.widget.ArrayAdapter;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.ListView;
import android.widget.SeekBar;
import android.widget.TextView;
import java.util.Locale;

/**
 * A control panel beside a control task at 1 kHz: values, a chart, a list that scrolls, a button
 * that starts and stops, a slider for the set point. When the task has stopped, the log has a table
 * of how late its releases were.
 *
 * <p>{@code --extra seconds=3} starts it at once, and lets it run so long with the list at rest and
 * so long while it scrolls.
 */
public final class Panel extends Activity {
    private static final String TAG = "Panel";
    private static final int MARGIN = 8;
    private static final int WIDTH = 390;
    private static final int CHART_HEIGHT = 220;
    private static final int ROWS = 400;
    private static final int SCROLL_PIXELS = 6;
    private static final int REFRESH_MILLIS = 50;
    private static final int MILLIS_PER_SECOND = 1000;

    private final Readings readings = new Readings();
    private final Handler handler = new Handler(Looper.getMainLooper());
    private final Runnable refresh = this::refresh;
    private TextView values;
    private TextView wanted;
    private Button button;
    private Chart chart;
    private ListView list;
    private ControlTask task;
    private boolean isScrolling;
    private int scrolls;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        LinearLayout columns = new LinearLayout(this);
        LinearLayout left = new LinearLayout(this);
        left.setOrientation(LinearLayout.VERTICAL);
        left.setPadding(MARGIN, MARGIN, MARGIN, MARGIN);
        values = new TextView(this);
        values.setTextSize(20);
        left.addView(values, WIDTH, 64);
        button = new Button(this);
        button.setText("Start");
        button.setOnClickListener(it -> toggle());
        left.addView(button, WIDTH, 56);
        wanted = new TextView(this);
        left.addView(wanted, WIDTH, 32);
        SeekBar slider = new SeekBar(this);
        slider.setMax(100);
        slider.setProgress(readings.setPoint());
        slider.setOnSeekBarChangeListener(new Slider());
        left.addView(slider, WIDTH, 48);
        chart = new Chart(this, readings);
        left.addView(chart, WIDTH, CHART_HEIGHT);
        columns.addView(left);
        list = new ListView(this);
        String[] rows = new String[ROWS];
        for (int row = 0; row < ROWS; row++) {
            rows[row] = "Part " + (row + 1);
        }
        list.setAdapter(new ArrayAdapter<>(this, android.R.layout.simple_list_item_1, rows));
        columns.addView(list, new LinearLayout.LayoutParams(0, LinearLayout.LayoutParams.MATCH_PARENT, 1));
        setContentView(columns);
        show();
        String seconds = getIntent().getStringExtra("seconds");
        if (seconds != null && state == null) {
            measure(Integer.parseInt(seconds) * MILLIS_PER_SECOND);
        }
    }

    /** The slider, which says the set point. */
    private final class Slider implements SeekBar.OnSeekBarChangeListener {
        @Override
        public void onProgressChanged(SeekBar slider, int progress, boolean isByUser) {
            readings.setSetPoint(progress);
            show();
        }

        @Override
        public void onStartTrackingTouch(SeekBar slider) {}

        @Override
        public void onStopTrackingTouch(SeekBar slider) {
            Log.i(TAG, "set point " + slider.getProgress());
        }
    }

    private void measure(long millis) {
        toggle();
        handler.postDelayed(() -> {
            task.setPhase(ControlTask.SCROLLING);
            isScrolling = true;
            Log.i(TAG, "scrolls");
            scroll();
        }, millis);
        handler.postDelayed(() -> {
            isScrolling = false;
            toggle();
        }, 2 * millis);
    }

    private void scroll() {
        if (!isScrolling) {
            return;
        }
        if (!list.canScrollList(1)) {
            list.setSelection(0);
        }
        list.scrollListBy(SCROLL_PIXELS);
        scrolls++;
        list.postOnAnimation(this::scroll);
    }

    private void toggle() {
        if (task == null) {
            task = new ControlTask(readings);
            task.setPhase(ControlTask.AT_REST);
            task.start();
            Log.i(TAG, "started");
            button.setText("Stop");
            refresh();
            return;
        }
        stop();
        button.setText("Start");
        show();
    }

    private void stop() {
        ControlTask stopped = task;
        task = null;
        handler.removeCallbacks(refresh);
        try {
            stopped.end();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        Log.i(TAG, String.format(Locale.ROOT, "stopped at %.0f", readings.value(0)));
        Log.i(TAG, ControlTask.head());
        Log.i(TAG, stopped.row("at rest", ControlTask.AT_REST));
        Log.i(TAG, stopped.row("scrolling", ControlTask.SCROLLING));
        Log.i(TAG, stopped.figures("at-rest", ControlTask.AT_REST));
        Log.i(TAG, stopped.figures("scrolling", ControlTask.SCROLLING));
        Log.i(TAG, "scrolled " + scrolls + " times");
        Log.i(TAG, stopped.summary());
    }

    private void refresh() {
        show();
        handler.postDelayed(refresh, REFRESH_MILLIS);
    }

    private void show() {
        values.setText(String.format(Locale.ROOT, "Value %.1f    Output %.1f", readings.value(0), readings.output(0)));
        wanted.setText("Set point " + readings.setPoint());
        chart.invalidate();
    }

    @Override
    protected void onDestroy() {
        if (task != null) {
            stop();
        }
        handler.removeCallbacksAndMessages(null);
        super.onDestroy();
    }
}
