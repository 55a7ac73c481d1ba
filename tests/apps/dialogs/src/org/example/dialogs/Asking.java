// SPDX-License-Identifier: Apache-2.0
package org.example.dialogs;

import android.app.Activity;
import android.app.AlertDialog;
import android.os.Bundle;
import android.util.Log;
import android.view.View;
import android.widget.AdapterView;
import android.widget.ArrayAdapter;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.PopupMenu;
import android.widget.Spinner;
import android.widget.Toast;

/** Windows besides the activity's own: a dialog, a menu, a list of choices, a toast. */
public final class Asking extends Activity {
    private static final String TAG = "Dialogs";

    private LinearLayout column;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        column = new LinearLayout(this);
        column.setOrientation(LinearLayout.VERTICAL);
        setContentView(column);
        add("Ask", it -> ask());
        add("Choose", this::choose);
        add("Toast", it -> Toast.makeText(this, "A toast", Toast.LENGTH_SHORT).show());
        Spinner spinner = new Spinner(this);
        String[] colours = {"red", "green", "blue"};
        spinner.setAdapter(new ArrayAdapter<>(this, android.R.layout.simple_spinner_item, colours));
        spinner.setOnItemSelectedListener(new AdapterView.OnItemSelectedListener() {
            @Override
            public void onItemSelected(AdapterView<?> list, View row, int index, long key) {
                Log.i(TAG, "colour " + colours[index]);
            }

            @Override
            public void onNothingSelected(AdapterView<?> list) {}
        });
        column.addView(spinner, 200, 48);
    }

    private void add(String text, View.OnClickListener pressed) {
        Button button = new Button(this);
        button.setText(text);
        button.setOnClickListener(pressed);
        column.addView(button, 200, 48);
    }

    private void ask() {
        new AlertDialog.Builder(this).setTitle("Sure?").setMessage("It cannot be undone.")
                .setPositiveButton("Yes", (dialog, which) -> Log.i(TAG, "yes"))
                .setNegativeButton("No", (dialog, which) -> Log.i(TAG, "no"))
                .setOnCancelListener(dialog -> Log.i(TAG, "cancelled")).show();
    }

    private void choose(View anchor) {
        PopupMenu menu = new PopupMenu(this, anchor);
        menu.getMenu().add("One");
        menu.getMenu().add("Two");
        menu.setOnMenuItemClickListener(item -> {
            Log.i(TAG, "chosen " + item.getTitle());
            return true;
        });
        menu.show();
    }
}
