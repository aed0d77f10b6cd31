# SPDX-License-Identifier: BSD-3-Clause
"""A Processing script of QGIS: fills the gaps of a raster by the program csrecover. Add it by
Toolbox, Scripts, Add Script to Toolbox...; qgis_process run script:csrecover_fill runs it."""
import os
import shutil
import subprocess
import tempfile

from osgeo import gdal
from qgis.core import (QgsProcessingAlgorithm, QgsProcessingException,
                       QgsProcessingParameterDefinition, QgsProcessingParameterBoolean,
                       QgsProcessingParameterEnum, QgsProcessingParameterNumber,
                       QgsProcessingParameterRasterDestination, QgsProcessingParameterRasterLayer,
                       QgsProcessingParameterString)

QUALITIES = ["fast", "balanced", "best", "max"]
NUMBER = QgsProcessingParameterNumber


class CsrecoverFill(QgsProcessingAlgorithm):
    """Parameters as of csrecover's command line."""

    def name(self):
        return "csrecover_fill"

    def displayName(self):
        return "Fill gaps of a raster (csrecover)"

    def createInstance(self):
        return CsrecoverFill()

    def shortHelpString(self):
        return ("Recovers pixels that are nodata, or where the mask is 0, from the others, in all "
                "bands; known pixels keep their values. A raster with a palette has classes. The "
                "program csrecover must be in PATH or named.")

    def initAlgorithm(self, config=None):
        for parameter in (
                QgsProcessingParameterRasterLayer("INPUT", "Raster with gaps"),
                QgsProcessingParameterRasterLayer("MASK", "Mask: 0 where to fill", optional=True),
                QgsProcessingParameterEnum("QUALITY", "Quality", QUALITIES, defaultValue=1),
                NUMBER("WITHIN", "Fill only so near to known pixels", NUMBER.Double, None, True, 1),
                NUMBER("NODATA", "Value of unknown pixels", NUMBER.Double, None, True),
                QgsProcessingParameterString("SIGMA", "Standard deviation of the noise, or auto",
                                             optional=True),
                QgsProcessingParameterBoolean("LABELS", "Values are classes", False),
                QgsProcessingParameterString("PROGRAM", "Program csrecover, if it is not in PATH",
                                             optional=True),
                QgsProcessingParameterRasterDestination("OUTPUT", "Filled")):
            if parameter.name() in ("NODATA", "SIGMA", "LABELS", "PROGRAM"):
                parameter.setFlags(parameter.flags() | parameter.FlagAdvanced)
            self.addParameter(parameter)

    def program(self, parameters, context):
        named = self.parameterAsString(parameters, "PROGRAM", context)
        found = shutil.which(named or "csrecover")
        if not found:
            raise QgsProcessingException(f"There is no program {named or 'csrecover in PATH'}; "
                                         "give its path as PROGRAM")
        return found

    def file_of(self, layer, folder, like=None):
        """A GeoTIFF of a layer: itself, or a copy; of a mask with the pixels of the file like."""
        if layer.dataProvider().name() != "gdal":
            raise QgsProcessingException(f"{layer.name()}: is no file of GDAL; export it to one")
        source = gdal.Open(layer.source())
        if source is None:
            raise QgsProcessingException(f"{layer.source()}: GDAL cannot open it")
        path = os.path.join(folder, "mask.tif" if like else "input.tif")
        if like is not None:
            other = gdal.Open(like)
            (place, *size), own = ((one.GetGeoTransform(), one.RasterXSize, one.RasterYSize)
                                   for one in (other, source))
            if (place, *size) != own:
                right, low = place[0] + place[1] * size[0], place[3] + place[5] * size[1]
                gdal.Warp(path, source, outputBounds=(place[0], low, right, place[3]),
                          width=size[0], height=size[1], dstSRS=other.GetProjection() or None)
                return path
        if source.GetDriver().ShortName == "GTiff" and os.path.isfile(layer.source()):
            return layer.source()
        gdal.Translate(path, source, format="GTiff")
        return path

    def processAlgorithm(self, parameters, context, feedback):
        program = self.program(parameters, context)
        output = self.parameterAsOutputLayer(parameters, "OUTPUT", context)
        with tempfile.TemporaryDirectory() as folder:
            path = self.file_of(self.parameterAsRasterLayer(parameters, "INPUT", context), folder)
            whole = os.path.splitext(output)[1].lower() in (".tif", ".tiff")
            made = output if whole else os.path.join(folder, "output.tif")
            words = [program, path, "-o", made, "--quality",
                     QUALITIES[self.parameterAsEnum(parameters, "QUALITY", context)]]
            mask = self.parameterAsRasterLayer(parameters, "MASK", context)
            if mask is not None:
                words += ["--mask", self.file_of(mask, folder, path)]
            named = {"WITHIN": "--within", "NODATA": "--unknown", "SIGMA": "--sigma"}
            for name, option in named.items():
                if parameters.get(name) not in (None, ""):
                    words += [option, self.parameterAsString(parameters, name, context)]
            raster = gdal.Open(path)  # must live as long as its band
            palette = raster.GetRasterBand(1).GetColorTable() is not None
            if palette or self.parameterAsBoolean(parameters, "LABELS", context):
                words.append("--labels")
            self.run_program(words, feedback)
            if not whole and gdal.Translate(output, made) is None:
                raise QgsProcessingException(f"{output}: GDAL cannot write it; name it .tif")
        return {"OUTPUT": output}

    def run_program(self, words, feedback):
        feedback.pushCommandInfo(" ".join(words))
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as run:
            said = []
            while True:
                try:
                    said += run.communicate(timeout=0.2)[0].splitlines()
                    break
                except subprocess.TimeoutExpired:
                    if feedback.isCanceled():
                        run.terminate()
            for line in said:
                feedback.pushInfo(line)
            if run.returncode and not feedback.isCanceled():
                raise QgsProcessingException((said or [f"csrecover: code {run.returncode}"])[-1])
