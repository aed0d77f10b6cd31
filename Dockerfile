# csrecover's tools in an image:
#   docker build -t csrecover .
#   docker run --rm -v "$PWD:/data" csrecover csrecover scan.npz -o picture.png
# With the CUDA kernels, for docker run --gpus all:
#   docker build --build-arg CUDA=ON --build-arg BASE=nvidia/cuda:12.6.3-devel-ubuntu24.04 -t csrecover .
ARG BASE=ubuntu:24.04
FROM ${BASE} AS build
ARG CUDA=OFF
WORKDIR /src
COPY . .
SHELL ["/bin/bash", "-eo", "pipefail", "-c"]
RUN . cmake/bootstrap.sh && install_packages ca-certificates curl dpkg-dev file g++ && \
    bootstrap_packages demo && packaging/wheel/libraries.sh /opt/pocketfft pocketfft
RUN cmake --preset package -DCSREC_CUDA=${CUDA} -DCMAKE_PREFIX_PATH=/opt/pocketfft && cmake --build --preset package && \
    cpack --preset package

FROM ubuntu:24.04
# The packages name the libraries that they need.
COPY --from=build /src/build-package/csrecover_*.deb /src/build-package/libcsrec0*.deb /tmp/packages/
# hadolint ignore=DL3008
RUN apt-get update && \
    apt-get install -y --no-install-recommends /tmp/packages/*.deb && \
    rm -rf /var/lib/apt/lists/* /tmp/packages
WORKDIR /data
USER 1000
CMD ["csrecover", "--help"]
