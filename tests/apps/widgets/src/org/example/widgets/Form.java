// SPDX-License-Identifier: Apache-2.0
package org.example.widgets;

import android.app.Activity;
import android.os.Bundle;
import android.util.Log;
import android.view.MotionEvent;
import android.view.View;
import android.widget.ArrayAdapter;
import android.widget.Button;
import android.widget.CheckBox;
import android.widget.EditText;
import android.widget.ListView;
import android.widget.TextView;

/** A form of AOSP's widgets; what is done to it stands in the log. */
public final class Form extends Activity {
    private static final String TAG = "Widgets";

    private int presses;
    private int top;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        setContentView(id("layout", "form"));
        TextView title = view("title");
        Button press = view("press");
        EditText name = view("name");
        CheckBox agree = view("agree");
        ListView rows = view("rows");
        press.setOnClickListener(it -> {
            presses++;
            title.setText("Pressed " + presses);
            Log.i(TAG, "pressed " + presses);
        });
        agree.setOnCheckedChangeListener((box, isChecked) -> Log.i(TAG, "agreed " + isChecked));
        name.setOnEditorActionListener((field, action, event) -> {
            Log.i(TAG, "name " + field.getText());
            return true;
        });
        String[] lines = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"};
        rows.setAdapter(new ArrayAdapter<>(this, android.R.layout.simple_list_item_1, lines));
        rows.setOnItemClickListener((list, row, index, key) -> Log.i(TAG, "row " + lines[index]));
        rows.setOnScrollChangeListener((list, x, y, oldX, oldY) -> {
            int first = rows.getFirstVisiblePosition();
            if (first != top) {
                top = first;
                Log.i(TAG, "top " + lines[first]);
            }
        });
        if (state != null) {
            Log.i(TAG, "again, " + getResources().getConfiguration().screenWidthDp + " wide");
        }
    }

    @Override
    public void onWindowFocusChanged(boolean hasFocus) {
        Log.i(TAG, "focus " + hasFocus);
    }

    /** Several fingers stand in the log: which moved how, and where each is. */
    @Override
    public boolean dispatchTouchEvent(MotionEvent event) {
        if (event.getPointerCount() > 1) {
            StringBuilder line = new StringBuilder("fingers ");
            line.append(MotionEvent.actionToString(event.getAction()));
            for (int index = 0; index < event.getPointerCount(); index++) {
                line.append(' ').append(event.getPointerId(index)).append('@');
                line.append((int) event.getX(index)).append(',').append((int) event.getY(index));
            }
            Log.i(TAG, line.toString());
        }
        return super.dispatchTouchEvent(event);
    }

    private int id(String kind, String name) {
        return getResources().getIdentifier(name, kind, getPackageName());
    }

    private <T extends View> T view(String name) {
        return findViewById(id("id", name));
    }
}
