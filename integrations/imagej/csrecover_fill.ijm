// SPDX-License-Identifier: BSD-3-Clause
// csrecover_fill.ijm - a macro of ImageJ and Fiji: fills what is selected, or NaN of 32 bit images,
// by the program csrecover, into a new image with the calibration of the active one.
// Plugins, Macros, Install... adds it to the menu; as an argument of runMacro:
// "program=/path/to/csrecover quality=balanced sigma=0"

macro "Fill by csrecover" {
    if (nImages == 0) exit("csrecover: no image is open");
    given = getArgument();
    program = value(given, "program", call("ij.Prefs.get", "csrecover.program", "csrecover"));
    quality = value(given, "quality", call("ij.Prefs.get", "csrecover.quality", "balanced"));
    sigma = value(given, "sigma", "0");
    if (given == "") {
        Dialog.create("Fill by csrecover");
        Dialog.addString("Program", program, 30);
        Dialog.addChoice("Quality", newArray("fast", "balanced", "best", "max"), quality);
        Dialog.addString("Noise, standard deviation (0: none, or auto)", sigma);
        Dialog.show();
        program = Dialog.getString();
        quality = Dialog.getChoice();
        sigma = Dialog.getString();
        call("ij.Prefs.set", "csrecover.program", program);
        call("ij.Prefs.set", "csrecover.quality", quality);
    }
    chosen = selectionType() >= 0;
    if (chosen && selectionType() > 4 && selectionType() != 9)
        exit("csrecover: the selection has no area; draw a rectangle, an oval or a region");
    if (!chosen && bitDepth() != 32)
        exit("csrecover: select what is to be filled");
    if (program != "csrecover" && !File.exists(program))
        exit("csrecover: there is no program " + program);

    title = getTitle();
    source = getImageID();
    Stack.getDimensions(width, height, channels, slices, frames);
    base = getDirectory("temp") + "csrecover-" + round(random * 1e9) + "-";
    input = base + "in.tif";
    mask = base + "mask.tif";
    output = base + "out.tif";
   
    pages = slices * frames;
    newImage("csrecover-mask", "8-bit white", width, height, pages);
    if (chosen) {
        run("Restore Selection");
        setColor(0);
        for (page = 1; page <= pages; page++) {
            if (pages > 1) setSlice(page);
            fill();
        }
        run("Select None");
    }
    saveAs("Tiff", mask);
    close();
    selectImage(source);
    Roi.remove;
    more = "";
    if (pages * channels > 1) more = " duplicate";
    run("Duplicate...", "title=csrecover-in" + more);
    saveAs("Tiff", input);
    close();
    selectImage(source);
    if (chosen) run("Restore Selection");
    exec(program, input, "-o", output, "--quiet", "--quality", quality, "--sigma", sigma,
         "--mask", mask);
    if (!File.exists(output))
        exit("csrecover failed. In a terminal it says why:\n" + program + " " + input + " -o " +
             output + " --quality " + quality + " --sigma " + sigma + " --mask " + mask);
    deleted = File.delete(input);
    deleted = File.delete(mask);
    open(output);
    deleted = File.delete(output);
    rename(title + " filled");
   
}

// What stands behind name= in words, or other.
function value(words, name, other) {
    each = split(words, " ");
    for (k = 0; k < each.length; k++)
        if (startsWith(each[k], name + "="))
            return substring(each[k], lengthOf(name) + 1);
    return other;
}
