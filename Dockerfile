# Poolscope as a container, made for a Hugging Face Docker Space and any other host of containers.
#
#   docker build -t poolscope .                                    computing on the CPU
#   docker build -t poolscope --build-arg TORCH=cu126 .            computing on an NVIDIA GPU (run with --gpus all)
#   docker run -p 7860:7860 poolscope                              then open http://localhost:7860
#   docker run --read-only --tmpfs /tmp -p 7860:7860 poolscope     nothing but /tmp is ever written
FROM python:3.11-slim

# Which of PyTorch's builds: cpu, or one for a CUDA version.
ARG TORCH=cpu

# A Space runs containers as user 1000.
RUN useradd --create-home --uid 1000 poolscope
WORKDIR /srv/poolscope

# What changes rarely comes first: these layers are kept while the code changes.
# uv knows where each of PyTorch's builds lies; pip would take the CUDA one.
RUN pip install --no-cache-dir uv && uv pip install --system --no-cache --torch-backend "${TORCH}" "torch>=2.6,<2.14"
COPY pyproject.toml README.md LICENSE ./
RUN mkdir app components && touch app/__init__.py components/__init__.py && pip install --no-cache-dir --editable .

# Code, gallery and small models; the embedded model came with the dependencies. Owned by root: the server cannot change them.
COPY .streamlit .streamlit
COPY data data
COPY components components
COPY app app
RUN python -m compileall -q app components

# Everything that is ever written lies below /tmp.
ENV HOME=/tmp/poolscope \
    XDG_CACHE_HOME=/tmp/poolscope/cache \
    POOLSCOPE_STORE=/tmp/poolscope/store \
    POOLSCOPE_HOSTED=1 \
    HF_HOME=/tmp/poolscope/huggingface \
    HF_HUB_OFFLINE=1 \
    NUMBA_CACHE_DIR=/tmp/poolscope/numba \
    MPLCONFIGDIR=/tmp/poolscope/matplotlib \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

USER 1000
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/_stcore/health', timeout=4)"]

# SPACE_ID is set in a Space, whose page shows the container in a frame of another site: uploads fail there with XSRF
# protection, which is off in that place only. exec makes the server the process that gets the host's signals.
CMD ["sh", "-c", "exec poolscope serve --host 0.0.0.0 --port 7860 ${SPACE_ID:+--in-frame}"]
