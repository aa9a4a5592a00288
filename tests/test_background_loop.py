"""Work on a loop of its own: called, iterated over, stopped."""

import asyncio
import time

import pytest

from preflight_rag.background_loop import BackgroundLoop


@pytest.fixture
def loop():
    own = BackgroundLoop("tested")
    yield own
    own.close()


async def numbers():
    for i in range(1000):
        yield i
        await asyncio.sleep(0.01)


async def test_leaving_an_iteration_ends_its_source(loop):
    ended = []

    async def source():
        try:
            async for i in numbers():
                yield i
        finally:
            ended.append(True)

    stream = loop.iterate(source())
    assert await anext(stream) == 0
    await stream.aclose()
    assert ended == [True]


async def test_a_source_that_swallows_a_cancellation_is_cancelled_again(loop):
    swallowed = []

    async def stubborn():
        yield 0
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed.append(time.monotonic())
                if len(swallowed) > 1:
                    raise

    stream = loop.iterate(stubborn())
    assert await anext(stream) == 0
    await asyncio.sleep(0.05)
    async with asyncio.timeout(10):
        await stream.aclose()
    assert len(swallowed) == 2


async def test_an_iteration_that_is_left_before_its_source_began_does_not_wait_for_it(loop):
    loop.call(asyncio.sleep(0))
    blocked = asyncio.create_task(asyncio.to_thread(loop.call, _block()))
    await asyncio.sleep(0.05)
    first = asyncio.create_task(anext(loop.iterate(numbers())))
    await asyncio.sleep(0.05)
    first.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await first
    await blocked


async def _block():
    time.sleep(0.5)  # the loop must not get on meanwhile
